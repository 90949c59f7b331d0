import type { GraphFile } from '../document/graphDocument.ts';
import type { ChangedParams } from './pageAgent.ts';
import type { CallRecord, TurnRecord } from './turnRecord.ts';

/** The default of `results_timeout_ms`. */
const defaultMs = 30_000;

/** How long a node waits for the results of its calls, in milliseconds. */
export function waitLimitMs(node: string, graph: GraphFile | undefined, changed: ChangedParams): number {
  const change = changed[node]?.['results_timeout_ms'];
  const value = change === undefined ? graph?.nodes[node]?.params?.['results_timeout_ms'] : change;
  return typeof value === 'number' ? value : defaultMs;
}

/**
 * Whether the node of a call still waits for its result (`open`), or has gone on without one (`over`). Undefined: it has its
 * result, or it had it in time and only the Ack of the result is not here yet.
 */
export function callWait({ visits, endedAt }: TurnRecord, { call, result }: CallRecord): 'open' | 'over' | undefined {
  if (!call.awaitsResult || result) return undefined;
  const visit = visits.find(({ waits }) => waits.some(({ callId }) => callId === call.callId));
  if (endedAt !== undefined || visit?.exit === 'no_results') return 'over';
  return visit?.endedAt === undefined ? 'open' : undefined;
}
