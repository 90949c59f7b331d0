import type { ControlledEvaluateInputItem, LlamaContextSequence, Token } from 'node-llama-cpp';

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
  const input = tokens.map((token, index): ControlledEvaluateInputItem =>
    // Greedy: no sampler changes the logits.
    wanted[index] ? [token, { generateNext: { probabilities: true, options: { temperature: 0 } } }] : token,
  );
  const results = await cache.controlledEvaluate(input);
  return tokens.map((_, index) => {
    const wantedTokens = wanted[index];
    if (!wantedTokens) return new Map();
    const probabilities = results[index]?.next.probabilities;
    if (!probabilities) throw new Error('the logits cannot be read');
    return new Map(wantedTokens.map((token) => [token, probabilities.get(token) ?? 0]));
  });
}
