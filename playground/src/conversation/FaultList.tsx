import { pointerTokens } from '../../../src/jsonPointer.ts';
import { useDocument } from '../document/documentStore.ts';
import { Button } from '../ui/Button.tsx';
import type { CompileFault } from './graphFaults.ts';

const maxShown = 6;

/** Faults of a graph, each with a button that shows its place in the graph file. */
export function FaultList({ faults }: { readonly faults: readonly CompileFault[] }) {
  const select = useDocument((store) => store.select);
  const reveal = (pointer: string): void => select(pointerTokens(pointer)[1]);
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
