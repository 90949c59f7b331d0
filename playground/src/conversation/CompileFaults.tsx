import { useFocus } from '../document/focusStore.ts';
import { Button } from '../ui/Button.tsx';
import type { CompileFault } from './graphFaults.ts';

const maxShown = 6;

/** Faults of a graph that no agent can be made of, each with a button that shows its place in the graph file. */
export function CompileFaults({ faults }: { readonly faults: readonly CompileFault[] }) {
  const reveal = useFocus((store) => store.reveal);
  if (faults.length === 0) return null;
  return (
    <ul className="conversation-faults">
      {faults.slice(0, maxShown).map(({ pointer, message }) => (
        <li key={`${pointer} ${message}`}>
          {message}{' '}
          <Button size="small" variant="quiet" onClick={() => reveal(pointer)}>
            Show
          </Button>
        </li>
      ))}
      {faults.length > maxShown && <li>and {faults.length - maxShown} more</li>}
    </ul>
  );
}
