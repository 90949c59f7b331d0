import { jsonBytes, maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { PathStep, ToolCallNotification, TurnComplete } from '../../protocol/frames.gen.ts';
import type { Call, InferenceRecord } from '../compile/turn.ts';

// Bytes of the two copies of the arguments in one notification; its issues take another part, the other fields are small.
const maxCallBytes = 3 * maxPartBytes;

type CallPlace = Pick<ToolCallNotification, 'agentId' | 'turnId' | 'nodeName' | 'callIndex' | 'awaitsResult'>;

/**
 * The notification of a call, in one frame: issues that do not fit are left out.
 * @param warn is told of what is left out.
 * @returns undefined when the arguments do not fit.
 */
export function createCallNotification(
  call: Call,
  place: CallPlace,
  warn: (warning: string) => void,
): ToolCallNotification | undefined {
  const { nodeName } = place;
  const bytes = jsonBytes(call.flatArguments) + jsonBytes(call.typedArguments);
  if (bytes > maxCallBytes) {
    warn(
      `${nodeName} detected a call to ${call.name} whose arguments do not fit in a frame (${bytes} bytes): it is not sent`,
    );
    return undefined;
  }
  const issues = takeFitting(call.issues, maxPartBytes);
  if (issues.length < call.issues.length) {
    warn(
      `${nodeName} reports the first ${issues.length} of ${call.issues.length} issues of a call to ${call.name}; the others do not fit in a frame`,
    );
  }
  return {
    ...place,
    callId: call.id,
    toolName: call.name,
    argumentsJson: call.flatArguments,
    typedArgumentsJson: call.typedArguments,
    known: call.known,
    repaired: call.repaired,
    consequential: call.consequential,
    because: call.because,
    issues,
  };
}

/** Record of a turn that has ended. */
interface TurnRecord extends Pick<
  TurnComplete,
  'agentId' | 'turnId' | 'status' | 'error' | 'durationMs' | 'timeToFirstTokenMs'
> {
  readonly path: readonly PathStep[];
  readonly inferences: readonly (InferenceRecord & { readonly nodeName: string })[];
  readonly calls: readonly Call[];
  readonly warnings: readonly string[];
  readonly diagnostics: boolean;
}

/** Creates the turn summary (TurnComplete). It fits in one frame: what does not is omitted, and a warning reports that. */
export function summarizeTurn({ path, inferences, calls, warnings, diagnostics, ...turn }: TurnRecord): TurnComplete {
  const sum = (pick: (inference: InferenceRecord) => number): number =>
    inferences.reduce((total, inference) => total + pick(inference), 0);
  const last = inferences.at(-1);
  const debugInfo = diagnostics ? JSON.stringify(createDebugInfo(calls, inferences)) : '';
  const isDebugInfoTooLarge = jsonBytes(debugInfo) > maxPartBytes;
  const shownPath = takeFitting(path, maxPartBytes);
  const omissions = [
    ...(isDebugInfoTooLarge ? ['debug_info does not fit in a frame and is left out'] : []),
    ...(shownPath.length < path.length
      ? [`the path has ${path.length} steps, and the first ${shownPath.length} are shown`]
      : []),
  ];
  const shownWarnings = takeFitting(warnings, maxPartBytes);
  if (shownWarnings.length < warnings.length)
    omissions.push(`${warnings.length - shownWarnings.length} more warnings do not fit in a frame`);
  return {
    ...turn,
    path: shownPath,
    stopReason: last ? stopReasons[last.finishReason] : 'NONE',
    tokensPrompt: sum(({ tokens }) => tokens.prompt),
    tokensReused: sum(({ tokens }) => tokens.reused),
    tokensGenerated: sum(({ tokens }) => tokens.generated),
    interactionsDropped: Math.max(0, ...inferences.map(({ dropped }) => dropped)),
    warnings: [...shownWarnings, ...omissions],
    debugInfo: isDebugInfoTooLarge ? '' : debugInfo,
  };
}

const stopReasons = { end: 'END', length: 'LENGTH', stop: 'STOP', aborted: 'ABORTED' } as const;

function createDebugInfo(calls: TurnRecord['calls'], inferences: TurnRecord['inferences']): object {
  return {
    calls: calls.map(({ id, name, typedArguments, known, repaired, issues, thought }) => {
      return { id, name, arguments: typedArguments, known, repaired, issues, thought };
    }),
    inferences: inferences.map(({ nodeName, finishReason, tokens, timings, dropped, notes }) => {
      const { queuedMs: waited, firstTokenMs: firstToken, totalMs: total } = timings;
      const timings_ms = { waited, firstToken, total };
      return { node: nodeName, ...notes, stopped: finishReason, tokens, timings_ms, interactions_dropped: dropped };
    }),
  };
}
