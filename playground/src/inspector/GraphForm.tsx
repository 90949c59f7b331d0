import { useDocument } from '../document/documentStore.ts';
import { membersOf } from '../document/graphDocument.ts';
import { useTypes } from '../document/typesStore.ts';
import { FieldRow } from './FieldRow.tsx';
import { ValueField } from './ValueField.tsx';

/** The fields of the graph itself, while no node is selected. */
export function GraphForm() {
  const { text, graph, edit } = useDocument();
  const properties = useTypes((store) => store.types.graph.properties) ?? {};
  const document = membersOf(text);
  const nodes = Object.keys(graph?.nodes ?? {});
  const start = graph?.start_node ?? '';
  const fields = Object.entries(properties).filter(([name]) => !['$schema', 'start_node', 'nodes'].includes(name));
  return (
    <section className="inspector-section" aria-label="Graph">
      <h2>Graph</h2>
      <FieldRow label="start_node" path={['start_node']} schema={properties['start_node'] ?? {}} required>
        {(control) => (
          <select
            {...control}
            className="inspector-choice"
            value={start}
            onChange={(event) => edit(['start_node'], event.target.value)}
          >
            {!nodes.includes(start) && (
              <option value={start}>{start === '' ? 'none' : `${start} (no such node)`}</option>
            )}
            {nodes.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </FieldRow>
      {fields.map(([name, schema]) => (
        <ValueField key={name} name={name} path={[name]} schema={schema} value={document[name]} />
      ))}
      <p className="inspector-summary">Select a node on the canvas to edit it, or add one with “Add node”.</p>
    </section>
  );
}
