import type { Metrics } from './metrics.ts';
import type { LabelsOf } from './definitions.ts';

/** Counts an error that a client is told of. */
export function countError(
  metrics: Metrics,
  at: LabelsOf<'turngraph_errors_total'>['at'],
  { code, name }: { readonly code: number; readonly name: string },
): void {
  metrics.add('turngraph_errors_total', { at, code: String(code), name });
}
