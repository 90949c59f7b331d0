import type { InferenceResult, SamplingParams } from '../../inference/contract/engine.ts';

/** Facts about an inference that its node adds to debug_info and to the event. */
export interface InferenceNotes {
  /** The tool-call format. */
  readonly tool_call_format?: string;
  readonly [fact: string]: unknown;
}

/**
 * The payload of the NodeEvent `inference`: what the model was given and what it generated; undefined where the result has
 * no transcript.
 * @param sampling undefined: answers were scored.
 */
export function inferenceEvent(
  { transcript, tokens, timings, finishReason }: InferenceResult,
  sampling: SamplingParams | undefined,
  model: string,
  { tool_call_format: format, ...facts }: InferenceNotes,
): object | undefined {
  if (!transcript) return undefined;
  const { queuedMs: queued_ms, firstTokenMs: first_token_ms, totalMs: total_ms } = timings;
  return {
    ...facts,
    model,
    ...(format !== undefined && { format }),
    prompt: transcript.prompt,
    text: transcript.text,
    finish_reason: finishReason,
    ...(sampling && { sampling }),
    tokens,
    timings: { queued_ms, first_token_ms, total_ms },
  };
}
