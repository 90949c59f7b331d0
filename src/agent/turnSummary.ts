import { maxPartBytes, takeFitting, jsonBytes } from '../frameSize.ts';
import type { PathStep, TurnComplete } from '../frames.gen.ts';
import type { Call, InferenceRecord } from '../graph/turn.ts';

/** All that is known of a turn when it is over. */
export interface TurnRecord extends Pick<
  TurnComplete,
  'agentId' | 'turnId' | 'status' | 'error' | 'durationMs' | 'timeToFirstTokenMs'
> {
  readonly path: readonly PathStep[];
  readonly inferences: readonly (InferenceRecord & { readonly nodeName: string })[];
  readonly calls: readonly Call[];
  readonly warnings: readonly string[];
  readonly diagnostics: boolean;
}

/** The account of a turn, in one frame: what does not fit is left out, and a warning says so. */
export function summarizeTurn({ path, inferences, calls, warnings, diagnostics, ...turn }: TurnRecord): TurnComplete {
  const sum = (pick: (inference: InferenceRecord) => number): number =>
    inferences.reduce((total, one) => total + pick(one), 0);
  const last = inferences.at(-1);
  const debugInfo = diagnostics ? JSON.stringify(createDebugInfo(calls, inferences)) : '';
  const tooLong = jsonBytes(debugInfo) > maxPartBytes;
  const shownPath = takeFitting(path, maxPartBytes);
  const leftOut = [
    ...(tooLong ? ['debug_info does not fit in a frame and is left out'] : []),
    ...(shownPath.length < path.length
      ? [`the path has ${path.length} steps, and the first ${shownPath.length} are shown`]
      : []),
  ];
  const shownWarnings = takeFitting(warnings, maxPartBytes);
  if (shownWarnings.length < warnings.length)
    leftOut.push(`${warnings.length - shownWarnings.length} more warnings do not fit in a frame`);
  return {
    ...turn,
    path: shownPath,
    stopReason: last ? stopReasons[last.finishReason] : 'NONE',
    tokensPrompt: sum(({ tokens }) => tokens.prompt),
    tokensReused: sum(({ tokens }) => tokens.reused),
    tokensGenerated: sum(({ tokens }) => tokens.generated),
    interactionsDropped: Math.max(0, ...inferences.map(({ dropped }) => dropped)),
    warnings: [...shownWarnings, ...leftOut],
    debugInfo: tooLong ? '' : debugInfo,
  };
}

const stopReasons = { end: 'END', length: 'LENGTH', stop: 'STOP', aborted: 'ABORTED' } as const;

function createDebugInfo(calls: TurnRecord['calls'], inferences: TurnRecord['inferences']): object {
  return {
    calls: calls.map(({ id, name, typedArguments, known, repaired, issues }) => {
      return { id, name, arguments: typedArguments, known, repaired, issues };
    }),
    inferences: inferences.map(({ nodeName, finishReason, tokens, timings, dropped, notes }) => {
      const { queuedMs: waited, firstTokenMs: firstToken, totalMs: total } = timings;
      const timings_ms = { waited, firstToken, total };
      return { node: nodeName, ...notes, stopped: finishReason, tokens, timings_ms, interactions_dropped: dropped };
    }),
  };
}
