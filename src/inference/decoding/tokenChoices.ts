import type { Token } from './tokenizer.ts';

/** Of the probability of the chosen token: what is less changes nothing that counts. */
const minShare = 0.001;

/**
 * The probability of a chosen token.
 * @param candidates the most probable tokens with their probabilities, at least one.
 * @param allows whether the grammar allows a token in place of the chosen one; undefined: there is no grammar.
 */
export function choiceProbability(
  candidates: ReadonlyMap<Token, number>,
  chosen: Token,
  allows: ((token: Token) => boolean) | undefined,
): number {
  const others = [...candidates].filter(([token]) => token !== chosen);
  const least = Math.min(1, ...others.map(([, probability]) => probability));
  const own = candidates.get(chosen) ?? least;
  if (!allows) return Math.min(1, own);
  const allowed = others.filter(([token, probability]) => probability > own * minShare && allows(token));
  // The model would have written something else: what is not listed may be allowed, too, and be as probable as the last one.
  if (allowed.length === 0 && own <= least && least < 1) return own / (own + least);
  return own / allowed.reduce((sum, [, probability]) => sum + probability, own);
}

const callStart = /[<[{(:=]/;
// Longer than what is added at once.
const maxAddedLength = 512;

/** Whether a call may have begun in what was added last to a text. What comes before is cheaper without probabilities. */
export const mayBeginCall = (text: string): boolean => callStart.test(text.slice(-maxAddedLength));
