import { useDocument } from '../document/documentStore.ts';
import { useFocus } from '../document/focusStore.ts';
import { Icon } from '../ui/Icon.tsx';

/** All faults of the graph. A click goes to the place. */
export function FaultList() {
  const { faults, graph } = useDocument();
  const reveal = useFocus((store) => store.reveal);
  if (!graph && faults.length === 0) return <p className="inspector-empty">No graph is open.</p>;
  if (faults.length === 0) return <p className="inspector-empty">The server finds no fault in this graph.</p>;
  return (
    <ul className="inspector-fault-list" aria-label="Faults">
      {faults.map(({ pointer, message, severity, offset }) => (
        <li key={`${pointer} ${message}`}>
          <button
            type="button"
            data-severity={severity}
            onClick={() => reveal(pointer, offset === undefined && pointer !== '' ? 'node' : 'text')}
          >
            <Icon name="alert" />
            <span>
              <span className="inspector-fault-kind">{severity}</span> {message}
              {pointer !== '' && <code>{pointer}</code>}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
