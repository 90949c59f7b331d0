import type { Token, Tokenizer } from '../../decoding/tokenizer.ts';
import type { DryParams } from '../../contract/samplingParams.ts';

/** The ways in which a sequence breaker can go on after a token of it; an empty one: the token contains the breaker. */
export type BreakerTails = (token: Token) => readonly (readonly Token[])[];

/**
 * DRY (llama.cpp: `llama_sampler_dry`): what is subtracted from the logits of the tokens that would continue a repetition at the
 * end of a context. These are tokens that followed earlier on the tokens that the context ends with. Their penalty grows with the
 * length of the repetition, which ends at a sequence breaker.
 *
 * Not the sampler of the library: it knows the tokens that it has drawn since the last pause. Neither the prompt, forced text
 * nor what was generated before a pause is among them, and without a limit of tokens it does nothing (3.21.1).
 */
export function dryPenalties(
  context: readonly Token[],
  { multiplier, base, allowed_length: allowed, penalty_last_n: lastN }: DryParams,
  tailsOf: BreakerTails,
): ReadonlyMap<Token, number> {
  // The last token first.
  const recent = context.slice(Math.max(0, context.length - lastN)).toReversed();
  const maxLength = lengthAfterBreaker(recent, tailsOf);
  const penalties = new Map<Token, number>();
  if (recent.length <= allowed || maxLength < allowed) return penalties;
  const containsBreaker = (token: Token): boolean => tailsOf(token).some(({ length }) => length === 0);
  for (const [next, length] of longestRepetitions(recent, maxLength))
    if (length >= allowed && !containsBreaker(next))
      penalties.set(next, Math.min(multiplier * base ** (length - allowed), maxPenalty));
  return penalties;
}

function lengthAfterBreaker(recent: readonly Token[], tailsOf: BreakerTails): number {
  for (const [age, token] of recent.entries()) {
    const complete = tailsOf(token).filter(
      (tail) => tail.length <= age && tail.every((next, index) => next === recent[age - 1 - index]),
    );
    if (complete.length > 0) return age - Math.max(...complete.map(({ length }) => length));
  }
  return recent.length;
}

/** More than any difference of logits; a 32-bit float. */
const maxPenalty = 1e30;

/** Of each token that followed an earlier repetition of the end: the length of the longest one, at most `maxLength`. */
function longestRepetitions(recent: readonly Token[], maxLength: number): ReadonlyMap<Token, number> {
  const longest = new Map<Token, number>();
  for (const [start, length] of prefixLengths(recent).entries()) {
    const next = recent[start - 1];
    if (next === undefined || length < (longest.get(next) ?? 0)) continue;
    longest.set(next, Math.min(length, maxLength));
  }
  return longest;
}

/** Of each index: how many items from it on are those at the start (the Z-algorithm); of index 0: 0. */
function prefixLengths(items: readonly unknown[]): Uint32Array {
  const lengths = new Uint32Array(items.length);
  // The match that reaches farthest.
  let start = 0;
  let end = 0;
  for (let index = 1; index < items.length; index++) {
    let length = index < end ? Math.min(end - index, lengths[index - start] ?? 0) : 0;
    while (index + length < items.length && items[length] === items[index + length]) length++;
    lengths[index] = length;
    if (index + length <= end) continue;
    start = index;
    end = index + length;
  }
  return lengths;
}

/** Finds the sequence breakers of DRY in tokens. Each token is read once, when it is first asked for. */
export function findBreakers(
  breakers: readonly string[],
  tokenizer: Pick<Tokenizer, 'detokenize' | 'tokenizeContinuation'>,
): BreakerTails {
  const known = new Map<Token, readonly (readonly Token[])[]>();
  return (token) => {
    const found = known.get(token);
    if (found) return found;
    const text = tokenizer.detokenize([token], [], true);
    const tails = breakers.some((breaker) => text.includes(breaker))
      ? [[]]
      : breakers.flatMap((breaker) => restsAfter(text, breaker)).map((rest) => tokenizer.tokenizeContinuation(rest));
    known.set(token, tails);
    return tails;
  };
}

/** What is left of a breaker after each beginning of it that a text ends with. */
const restsAfter = (text: string, breaker: string): readonly string[] =>
  Array.from({ length: breaker.length - 1 }, (_, index) => index + 1)
    .filter((length) => text.endsWith(breaker.slice(0, length)))
    .map((length) => breaker.slice(length));
