import { bareCalls, type BareFindings } from './untaggedCalls.ts';
import type { Findings, Found } from './callSpan.ts';
import { reasoningOf } from '../reasoning/reasoningSpans.ts';
import { residualOf } from './residualText.ts';
import type { CallKeys } from './callShape.ts';
import { taggedCalls } from './taggedCalls.ts';
import type { Detection } from '../tool.ts';

/**
 * Finds the calls in the whole text of a model, whose format writes them under the given keys. Takes time in
 * proportion to the text's length and never throws, whatever the text.
 */
export function detect(text: string, keys: CallKeys): Detection {
  const past = reasoningOf(text);
  const tagged = taggedCalls(text, keys, past);
  const at = tagged.found[0]?.start ?? tagged.cutAt;
  if (at !== undefined && !text.slice(0, at).includes('{')) return detection(text, tagged);
  const bare = bareCalls(text, keys, past);
  if (at === undefined) return detection(text, bare);
  const found = outside(tagged.found, bare);
  if (found.length > 0) return detection(text, { ...tagged, found });
  const isInString = tagged.found.length > 0 || bare.found.some(({ start, end }) => start < at && at < end);
  // What is cut off in a tag is not searched for bare calls.
  return detection(text, isInString ? bare : { ...bareCalls(text.slice(0, at), keys, past), cutAt: at });
}

// A tag in a string of a bare call is text: the call that it seems to announce is an argument.
function outside(tagged: readonly Found[], { found, cutAt, cutInValue }: BareFindings): readonly Found[] {
  const cut = cutInValue && cutAt !== undefined ? cutAt : Infinity;
  let next = 0;
  return tagged.filter(({ start }) => {
    while ((found[next]?.end ?? Infinity) <= start) next++;
    return start < cut && start <= (found[next]?.start ?? Infinity);
  });
}

const detection = (text: string, { found, cutAt }: Findings): Detection => ({
  calls: found.flatMap(({ calls }) => calls),
  residual: residualOf(text, found),
  truncated: cutAt !== undefined,
});
