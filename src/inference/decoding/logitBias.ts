import type { Token } from './tokenizer.ts';

/**
 * What is added to the logit of a forbidden token. It is finite, so that a grammar that allows nothing else has it: with an
 * infinite one no token would be left. The probability of the token is 0 otherwise, as a 32-bit float.
 */
const forbiddenBias = -10_000;

/** A text as tokens, and what is added to the logit of each of them; false = they are forbidden. */
type BiasedText = readonly [tokens: readonly Token[], bias: number | false];

/** What is added to the logits of tokens. A token of several texts has the sum of their biases, or is forbidden. */
export function sumBiases(texts: readonly BiasedText[]): Map<Token, number> {
  const sums = new Map<Token, number>();
  for (const [tokens, bias] of texts)
    for (const token of new Set(tokens))
      sums.set(token, (sums.get(token) ?? 0) + (bias === false ? forbiddenBias : bias));
  return sums;
}
