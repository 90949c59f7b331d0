import { useDocument } from '../document/documentStore.ts';
import { isEdited, openServerGraph, useDocumentActions } from './documentActions.ts';

/** The choice of the server's graphs, and whether the open one has unsaved edits. */
export function GraphPicker() {
  const name = useDocument((store) => store.name);
  const edited = useDocument(isEdited);
  const serverGraphs = useDocumentActions((store) => store.serverGraphs);
  const isOwn = name !== '' && !serverGraphs.includes(name);
  return (
    <div className="app-graph-picker">
      <label>
        <span>Graph</span>
        <select value={name} onChange={(event) => void openServerGraph(event.target.value)}>
          {name === '' && <option value="">choose one</option>}
          {isOwn && <option>{name}</option>}
          <optgroup label="On the server">
            {serverGraphs.map((graph) => (
              <option key={graph}>{graph}</option>
            ))}
          </optgroup>
        </select>
      </label>
      {edited && (
        <span className="app-edited" title="There are edits that are not saved">
          edited
        </span>
      )}
    </div>
  );
}
