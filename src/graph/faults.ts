import { Fault, shortened } from '../fault.ts';
import { bytesOfPart, fitting } from '../frameSize.ts';
import type { CodeName } from '../frames.gen.ts';
import { placeInGraph } from './document.ts';
import { ParamsRefused } from './node.ts';

/** One thing that is wrong with a graph. */
export interface GraphFault {
  readonly code: CodeName;
  /** JSON pointer into the document. */
  readonly pointer: string;
  /** A sentence with its place. */
  readonly message: string;
}

const shown = 100;
// The message of the error and its detail are one frame.
const bytesOfDetail = 3 * bytesOfPart;

/** A fault at a place: the sentence begins with it. */
export const faultAt = (pointer: string, message: string, code: CodeName = 'GRAPH_COMPILATION_FAILED'): GraphFault => ({
  code,
  pointer,
  message: shortened(`${placeInGraph(pointer)} ${message}`),
});

/** All faults of a graph as one error: the first is its message, the first hundred are its detail. */
export function refuse(faults: readonly GraphFault[]): Fault {
  const [first] = faults;
  if (!first) throw new TypeError('a graph was refused without a fault');
  return new Fault(first.code, first.message, {
    detail: JSON.stringify(fitting(faults.slice(0, shown), bytesOfDetail, true)),
  });
}

/** Refused parameters of a node as faults of the graph; none for any other error, such as a model that does not load. */
export function asGraphFaults(error: unknown, nodePointer: string): GraphFault[] {
  if (!(error instanceof ParamsRefused)) return [];
  return error.refusals.map(({ pointer, message, code }) => faultAt(`${nodePointer}/params${pointer}`, message, code));
}
