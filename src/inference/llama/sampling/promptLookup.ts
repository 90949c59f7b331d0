import type { Token } from 'node-llama-cpp';

/** Longer repetitions tell no more about the next token. */
const maxMatchLength = 16;
/** A drafted token costs about a third of a batch of its own, and the third one is seldom right after a short repetition. */
const minDraftLength = 2;

/**
 * Drafts the next tokens by prompt lookup: what followed where the last tokens occurred before. The places where most of
 * the last tokens are repeated count; where they go on in different ways, nothing is drafted. After a long repetition the
 * draft is longer.
 * @param context the prompt and the text after it.
 * @param minMatch how many of the last tokens have to be repeated.
 * @param maxTokens largest number of drafted tokens.
 */
export function draftFrom(context: readonly Token[], minMatch: number, maxTokens: number): readonly Token[] {
  const last = context.length - 1;
  let bestLength = 0;
  let places: number[] = [];
  for (let place = last - 1; place >= 0; place--) {
    if (context[place] !== context[last]) continue;
    const length = repetitionLength(context, place);
    if (length > bestLength) places = [];
    if (length >= bestLength) places.push(place + 1);
    bestLength = Math.max(bestLength, length);
  }
  const [latest] = places;
  if (latest === undefined || bestLength < minMatch || places.some((place) => context[place] !== context[latest]))
    return [];
  const length = Math.max(minDraftLength, bestLength / 2);
  return context.slice(latest, latest + Math.max(0, Math.min(length, maxTokens)));
}

/** How many tokens up to a place equal the last ones. */
function repetitionLength(context: readonly Token[], place: number): number {
  let length = 1;
  while (length < maxMatchLength && length <= place && context[place - length] === context[context.length - 1 - length])
    length++;
  return length;
}
