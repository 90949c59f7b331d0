import type { ControlledEvaluateInputItem, LlamaContextSequence, Token, TokenBias } from 'node-llama-cpp';

import { toTokenBias } from '../sampling/samplingOptions.ts';

/** What the library knows of a token after its evaluation. */
interface NextToken {
  /** The probability of the most probable next token. */
  readonly confidence?: number;
  /** Of the wanted tokens and one more, relative to each other; those of wanted tokens are too large by `bias`. */
  readonly probabilities?: ReadonlyMap<Token, number>;
}

/**
 * Evaluates tokens after those that a cache holds.
 * @param wanted for each token: the tokens whose probabilities as the next one are wanted; undefined: none.
 * @returns for each token: the probabilities of its wanted tokens, at temperature 1 and without a sampler.
 */
export async function tokenProbabilities(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  wanted: readonly (readonly Token[] | undefined)[],
): Promise<readonly ReadonlyMap<Token, number>[]> {
  const input = tokens.map((token, index): ControlledEvaluateInputItem => {
    const wantedTokens = wanted[index];
    if (!wantedTokens) return token;
    const tokenBias = biasTowards(wantedTokens, cache);
    const options = { temperature: 1, topK: wantedTokens.length + 1, topP: 1, minP: 0, seed: 1, tokenBias };
    return [token, { generateNext: { probabilities: true, confidence: true, options } }];
  });
  const results = await cache.controlledEvaluate(input);
  return tokens.map((_, index) => {
    const wantedTokens = wanted[index];
    return wantedTokens ? absoluteProbabilities(wantedTokens, results[index]?.next ?? {}) : new Map();
  });
}

/**
 * What is added to the logits of the wanted tokens, so that top_k keeps them. A token whose logit is lower than the highest
 * one by more than this has no probability then. Much more than this would exceed the range of 32-bit floats.
 */
const bias = 80;

const biasTowards = (tokens: readonly Token[], { model }: LlamaContextSequence): TokenBias =>
  toTokenBias(new Map(tokens.map((token) => [token, bias])), model);

function absoluteProbabilities(
  wanted: readonly Token[],
  { confidence, probabilities = new Map() }: NextToken,
): ReadonlyMap<Token, number> {
  const isWanted = new Set(wanted);
  const relative = new Map<Token, number>();
  for (const [token, probability] of probabilities)
    relative.set(token, isWanted.has(token) ? probability / Math.exp(bias) : probability);
  // The most probable token is a wanted one, or the one more that top_k keeps.
  const highest = Math.max(0, ...relative.values());
  if (confidence === undefined || highest === 0) throw new Error('the logits cannot be read');
  return new Map(wanted.map((token) => [token, (confidence * (relative.get(token) ?? 0)) / highest]));
}
