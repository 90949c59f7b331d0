import type { GraphFile } from '../document/graphDocument.ts';
import type { ChangedParams } from './pageAgent.ts';

/** The default of `results_timeout_ms`. */
const defaultMs = 30_000;

/** How long a node waits for the results of its calls, in milliseconds. */
export function waitLimitMs(node: string, graph: GraphFile | undefined, changed: ChangedParams): number {
  const change = changed[node]?.['results_timeout_ms'];
  const value = change === undefined ? graph?.nodes[node]?.params?.['results_timeout_ms'] : change;
  return typeof value === 'number' ? value : defaultMs;
}
