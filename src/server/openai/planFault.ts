import { Fault } from '../../protocol/fault.ts';
import type { GraphFault } from '../../graph/compile/faults.ts';
import { InvalidParams } from '../../graph/compile/node.ts';
import { describePointer } from '../../base/jsonPointer.ts';
import { ApiError } from './apiError.ts';
import type { TurnPlan } from './turnPlan.ts';

/** An error of the graph of a request as an error of the request's field; returns other errors as they are. */
export function planFault(error: unknown, { fields }: TurnPlan): unknown {
  if (error instanceof InvalidParams) return new ApiError(error.message, { status: 400, param: 'messages' });
  if (!(error instanceof Fault)) return error;
  for (const { code, pointer, message } of faultsOf(error)) {
    const field = Object.entries(fields).find(([, place]) => pointer === place || pointer.startsWith(`${place}/`));
    if (!field) continue;
    const [name, place] = field;
    const param = name + describePointer(pointer.slice(place.length));
    // A model that is not there, for example, has a status of its own.
    const own = ApiError.from(new Fault(code, message));
    // The message begins with the place in the graph.
    const [, reason = own.message] = /^\S+ ([^]*)$/.exec(own.message) ?? [];
    return new ApiError(`${param} ${reason}`, own.status === 500 ? { ...invalid, param } : { ...own, param });
  }
  // A graph of the folder is the server's own.
  if (error.name !== 'GRAPH_COMPILATION_FAILED' && error.name !== 'INVALID_EXIT_TARGET') return error;
  const status = Object.keys(fields).length === 0 ? 500 : 400;
  return new ApiError(error.message, { status, param: 'model', code: error.name.toLowerCase() });
}

const invalid = { status: 400, code: 'invalid_value' } as const;

function faultsOf({ detail }: Fault): readonly GraphFault[] {
  if (detail === '') return [];
  const faults: unknown = JSON.parse(detail);
  return Array.isArray(faults) ? (faults as GraphFault[]) : [];
}
