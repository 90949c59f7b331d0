import { Fault, truncateMessage } from '../fault.ts';
import { maxPartBytes, takeFitting } from '../frameSize.ts';
import type { CodeName } from '../frames.gen.ts';
import { describeGraphPointer } from './document.ts';
import { InvalidParams } from './node.ts';

/** One thing that is wrong with a graph. */
export interface GraphFault {
  readonly code: CodeName;
  /** JSON pointer into the document. */
  readonly pointer: string;
  /** A sentence with its place. */
  readonly message: string;
}

const maxFaults = 100;
// The message of the error and its detail are one frame.
const maxDetailBytes = 3 * maxPartBytes;

/** A fault at a place: the sentence begins with it. */
export const createGraphFault = (
  pointer: string,
  message: string,
  code: CodeName = 'GRAPH_COMPILATION_FAILED',
): GraphFault => ({
  code,
  pointer,
  message: truncateMessage(`${describeGraphPointer(pointer)} ${message}`),
});

/** All faults of a graph as one error: the first is its message, the first hundred are its detail. */
export function invalidGraph(faults: readonly GraphFault[]): Fault {
  const [first] = faults;
  if (!first) throw new TypeError('a graph was refused without a fault');
  return new Fault(first.code, first.message, {
    detail: JSON.stringify(takeFitting(faults.slice(0, maxFaults), maxDetailBytes, true)),
  });
}

/** Refused parameters of a node as faults of the graph; none for any other error, such as a model that does not load. */
export function toGraphFaults(error: unknown, nodePointer: string): GraphFault[] {
  if (!(error instanceof InvalidParams)) return [];
  return error.errors.map(({ pointer, message, code }) =>
    createGraphFault(`${nodePointer}/params${pointer}`, message, code),
  );
}
