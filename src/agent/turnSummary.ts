import { bytesOfPart, fitting, jsonBytes } from '../frameSize.ts';
import type { PathStep, TurnComplete } from '../frames.gen.ts';
import type { Call, Inference } from '../graph/turn.ts';

/** All that is known of a turn when it is over. */
export interface Finished extends Pick<
  TurnComplete,
  'agentId' | 'turnId' | 'status' | 'error' | 'durationMs' | 'timeToFirstTokenMs'
> {
  readonly path: readonly PathStep[];
  readonly inferences: readonly (Inference & { readonly nodeName: string })[];
  readonly calls: readonly Call[];
  readonly warnings: readonly string[];
  readonly diagnostics: boolean;
}

/** The account of a turn, in one frame: what does not fit is left out, and a warning says so. */
export function accountOf({ path, inferences, calls, warnings, diagnostics, ...turn }: Finished): TurnComplete {
  const sum = (pick: (inference: Inference) => number): number =>
    inferences.reduce((total, one) => total + pick(one), 0);
  const last = inferences.at(-1);
  const debugInfo = diagnostics ? JSON.stringify(diagnosisOf(calls, inferences)) : '';
  const tooLong = jsonBytes(debugInfo) > bytesOfPart;
  const shownPath = fitting(path, bytesOfPart);
  const leftOut = [
    ...(tooLong ? ['debug_info does not fit in a frame and is left out'] : []),
    ...(shownPath.length < path.length
      ? [`the path has ${path.length} steps, and the first ${shownPath.length} are shown`]
      : []),
  ];
  const shownWarnings = fitting(warnings, bytesOfPart);
  if (shownWarnings.length < warnings.length)
    leftOut.push(`${warnings.length - shownWarnings.length} more warnings do not fit in a frame`);
  return {
    ...turn,
    path: shownPath,
    stopReason: last ? stopReasons[last.stopped] : 'NONE',
    tokensPrompt: sum(({ tokens }) => tokens.prompt),
    tokensReused: sum(({ tokens }) => tokens.reused),
    tokensGenerated: sum(({ tokens }) => tokens.generated),
    interactionsDropped: Math.max(0, ...inferences.map(({ dropped }) => dropped)),
    warnings: [...shownWarnings, ...leftOut],
    debugInfo: tooLong ? '' : debugInfo,
  };
}

const stopReasons = { end: 'END', length: 'LENGTH', stop: 'STOP', aborted: 'ABORTED' } as const;

function diagnosisOf(calls: Finished['calls'], inferences: Finished['inferences']): object {
  return {
    calls: calls.map(({ id, name, typedArguments, known, repaired, issues }) => {
      return { id, name, arguments: typedArguments, known, repaired, issues };
    }),
    inferences: inferences.map(({ nodeName, stopped, tokens, timings, dropped, notes }) => {
      return { node: nodeName, ...notes, stopped, tokens, timings_ms: timings, interactions_dropped: dropped };
    }),
  };
}
