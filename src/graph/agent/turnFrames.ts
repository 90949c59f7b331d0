import { jsonBytes, maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { ToolCallNotification, TurnComplete } from '../../protocol/frames.gen.ts';
import type { Call, InferenceRecord } from '../compile/turn.ts';

// Bytes of the two copies of the arguments in one notification; its issues take another part, the other fields are small.
const maxCallBytes = 3 * maxPartBytes;

/** A call in one frame; undefined: it does not fit. Issues that do not fit are left out. @param warn of omissions. */
export function createCallNotification(
  call: Call,
  place: Pick<ToolCallNotification, 'agentId' | 'turnId' | 'nodeName' | 'callIndex' | 'awaitsResult'>,
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
  if (issues.length < call.issues.length)
    warn(
      `${nodeName} reports the first ${issues.length} of ${call.issues.length} issues of a call to ${call.name}; the others do not fit in a frame`,
    );
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
    ...(call.confidence !== undefined && { confidence: call.confidence }),
  };
}

/** What a turn summary has beyond what follows from the inferences. */
interface TurnRecord extends Omit<
  TurnComplete,
  'stopReason' | 'debugInfo' | `tokens${string}` | `interactions${string}`
> {
  readonly inferences: readonly (InferenceRecord & { readonly nodeName: string })[];
  readonly calls: readonly Call[];
  readonly diagnostics: boolean;
}

/** Creates the turn summary (TurnComplete). It fits in one frame: what does not is omitted, and a warning reports that. */
export function summarizeTurn(record: TurnRecord): TurnComplete {
  const { path, inferences, calls, warnings, resultMetadata, modelChoices, diagnostics, ...turn } = record;
  const sum = (pick: (inference: InferenceRecord) => number): number =>
    inferences.reduce((total, inference) => total + pick(inference), 0);
  const last = inferences.at(-1);
  const debugInfo = diagnostics ? JSON.stringify(createDebugInfo(calls, inferences)) : '';
  const isDebugInfoTooLarge = jsonBytes(debugInfo) > maxPartBytes;
  const shownChoices = takeFitting(modelChoices, maxPartBytes / 2);
  const shownPath = takeFitting(path, maxPartBytes / (modelChoices.length > 0 ? 2 : 1));
  const shownMetadata = takeFitting(resultMetadata, maxPartBytes);
  const shownWarnings = takeFitting(warnings, maxPartBytes);
  const omissions = [
    shownMetadata.length < resultMetadata.length &&
      `the turn has metadata of ${resultMetadata.length} results, and that of the first ${shownMetadata.length} is shown`,
    isDebugInfoTooLarge && 'debug_info does not fit in a frame and is left out',
    shownPath.length < path.length && `the path has ${path.length} steps, and the first ${shownPath.length} are shown`,
    shownWarnings.length < warnings.length &&
      `${warnings.length - shownWarnings.length} more warnings do not fit in a frame`,
  ].filter((omission) => omission !== false);
  return {
    ...turn,
    path: shownPath,
    stopReason: last ? stopReasons[last.finishReason] : 'NONE',
    tokensPrompt: sum(({ tokens }) => tokens.prompt),
    tokensReused: sum(({ tokens }) => tokens.reused),
    tokensGenerated: sum(({ tokens }) => tokens.generated),
    interactionsDropped: Math.max(0, ...inferences.map(({ dropped }) => dropped)),
    interactionsSummarised: Math.max(0, ...inferences.map(({ summarised = 0 }) => summarised)),
    warnings: [...shownWarnings, ...omissions],
    debugInfo: isDebugInfoTooLarge ? '' : debugInfo,
    resultMetadata: shownMetadata,
    modelChoices: shownChoices,
  };
}

const stopReasons = { end: 'END', length: 'LENGTH', stop: 'STOP', aborted: 'ABORTED' } as const;

function createDebugInfo(calls: TurnRecord['calls'], inferences: TurnRecord['inferences']): object {
  return {
    calls: calls.map(({ id, name, typedArguments, known, repaired, issues, thought, confidence }) => {
      return { id, name, arguments: typedArguments, known, repaired, issues, thought, confidence };
    }),
    inferences: inferences.map(({ nodeName, finishReason, tokens, timings, dropped, summarised, notes }) => {
      const { queuedMs: waited, firstTokenMs: firstToken, totalMs: total } = timings;
      const timings_ms = { waited, firstToken, total };
      const shown = { interactions_dropped: dropped, interactions_summarised: summarised };
      return { node: nodeName, ...notes, stopped: finishReason, tokens, timings_ms, ...shown };
    }),
  };
}
