import { untaggedCalls, type UntaggedCallSpans } from './untaggedCalls.ts';
import type { CallSpans, CallSpan } from './callSpan.ts';
import { createReasoningSkipper } from '../reasoning/reasoningSpans.ts';
import { residualText } from './residualText.ts';
import type { CallKeys } from './callShape.ts';
import { taggedCalls } from './taggedCalls.ts';
import type { Detection } from '../tool.ts';

/**
 * Finds the calls in the whole text of a model, whose format writes them under the given keys. Takes time in
 * proportion to the text's length and never throws, whatever the text.
 */
export function detect(text: string, keys: CallKeys): Detection {
  const skipReasoning = createReasoningSkipper(text);
  const tagged = taggedCalls(text, keys, skipReasoning);
  const at = tagged.spans[0]?.start ?? tagged.truncatedAt;
  if (at !== undefined && !text.slice(0, at).includes('{')) return toDetection(text, tagged);
  const bare = untaggedCalls(text, keys, skipReasoning);
  if (at === undefined) return toDetection(text, bare);
  const spans = notInsideUntaggedCall(tagged.spans, bare);
  if (spans.length > 0) return toDetection(text, { ...tagged, spans });
  const isInString = tagged.spans.length > 0 || bare.spans.some(({ start, end }) => start < at && at < end);
  // What is cut off in a tag is not searched for bare calls.
  return toDetection(
    text,
    isInString ? bare : { ...untaggedCalls(text.slice(0, at), keys, skipReasoning), truncatedAt: at },
  );
}

// A tag in a string of a bare call is text: the call that it seems to announce is an argument.
function notInsideUntaggedCall(
  tagged: readonly CallSpan[],
  { spans, truncatedAt, truncatedInValue: cutInValue }: UntaggedCallSpans,
): readonly CallSpan[] {
  const truncated = cutInValue && truncatedAt !== undefined ? truncatedAt : Infinity;
  let next = 0;
  return tagged.filter(({ start }) => {
    while ((spans[next]?.end ?? Infinity) <= start) next++;
    return start < truncated && start <= (spans[next]?.start ?? Infinity);
  });
}

const toDetection = (text: string, { spans, truncatedAt }: CallSpans): Detection => ({
  calls: spans.flatMap(({ calls }) => calls),
  residual: residualText(text, spans),
  truncated: truncatedAt !== undefined,
});
