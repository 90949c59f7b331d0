import type { TurnOutcome } from '../../graph/agent/turnOptions.ts';
import { countError, type Metrics } from '../metrics/metrics.ts';

/** Records the metrics of a turn that has ended: status, times, warnings, tool calls, insights, error. */
export function recordTurnMetrics(metrics: Metrics, { summary, calls, insights }: TurnOutcome): void {
  const { status, error, durationMs, timeToFirstTokenMs, warnings } = summary;
  metrics.add('turngraph_turns_total', { status });
  metrics.observe('turngraph_turn_duration_seconds', { status }, durationMs / 1000);
  if (timeToFirstTokenMs > 0)
    metrics.observe('turngraph_turn_time_to_first_token_seconds', {}, timeToFirstTokenMs / 1000);
  metrics.add('turngraph_turn_warnings_total', {}, warnings.length);
  metrics.add('turngraph_tool_insights_total', {}, insights.length);
  for (const { known, repaired, issues } of calls) {
    metrics.add('turngraph_tool_calls_total', { known: `${known}`, repaired: `${repaired}` });
    for (const { code } of issues) metrics.add('turngraph_tool_call_issues_total', { code });
  }
  if (error && status === 'ERROR') countError(metrics, 'turn', error);
}
