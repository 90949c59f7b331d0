import { Fault, truncateMessage } from '../../protocol/fault.ts';
import { maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';
import { describeGraphPointer } from './document.ts';
import { InvalidOutside, InvalidParams } from './node.ts';

/** One error in a graph. */
export interface GraphFault {
  readonly code: CodeName;
  /** JSON pointer into the document. */
  readonly pointer: string;
  /** A sentence that begins with the place. */
  readonly message: string;
}

const maxFaults = 100;
// Message and detail of an error go into one frame.
const maxDetailBytes = 3 * maxPartBytes;

/** Creates a fault; the message is the place followed by `message`. */
export const createGraphFault = (
  pointer: string,
  message: string,
  code: CodeName = 'GRAPH_COMPILATION_FAILED',
): GraphFault => ({
  code,
  pointer,
  message: truncateMessage(`${describeGraphPointer(pointer)} ${message}`),
});

/**
 * Combines the faults of a graph into one error: the first is its message, with the number of the others; the first
 * `maxFaults` that fit are its detail.
 * Of several faults of one value only the first counts.
 */
export function invalidGraph(allFaults: readonly GraphFault[]): Fault {
  const pointers = new Set<string>();
  const faults = allFaults.filter(({ pointer }) => !pointers.has(pointer) && pointers.add(pointer));
  const [first] = faults;
  if (!first) throw new TypeError('a graph was rejected without a fault');
  const others = faults.length - 1;
  const more =
    others === 0
      ? ''
      : `; ${others} more ${others === 1 ? 'fault is' : 'faults are'} in the detail, and turngraph check shows all`;
  return new Fault(first.code, first.message + more, {
    detail: JSON.stringify(takeFitting(faults.slice(0, maxFaults), maxDetailBytes, true)),
  });
}

/** Converts the error of a node that is not created to faults of the graph; [] for other errors, such as a model that does not load. */
export function toGraphFaults(error: unknown, nodePointer: string): GraphFault[] {
  if (error instanceof InvalidOutside) {
    const { code, pointer, message } = error;
    return [{ code, pointer, message: truncateMessage(message) }];
  }
  if (!(error instanceof InvalidParams)) return [];
  return error.errors.map(({ pointer, message, code }) =>
    createGraphFault(`${nodePointer}/params${pointer}`, message, code),
  );
}
