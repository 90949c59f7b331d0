import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/**
 * Keeps of a KV cache what is the same, token for token, from the start of a prompt on, and erases the rest.
 * @returns how many tokens were kept: not always all that are the same, for some architectures cannot erase a tail.
 */
export async function align(cache: LlamaContextSequence, tokens: Token[]): Promise<number> {
  // Never with shifting: that would keep later tokens too, which were computed behind text that is gone.
  await cache.adaptStateToTokens(tokens, false);
  return cache.nextTokenIndex;
}

/** Evaluates tokens up to a place, a chunk at a time, until halted. */
export async function fill(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  options: { readonly end: number; readonly chunk: number; readonly halted: () => boolean },
): Promise<void> {
  const { end, chunk, halted } = options;
  while (cache.nextTokenIndex < end && !halted()) {
    const at = cache.nextTokenIndex;
    await cache.evaluateWithoutGeneratingNewTokens(tokens.slice(at, Math.min(at + chunk, end)));
  }
}

/** How many of the tokens a KV cache holds, from the first on. */
export const held = (cache: LlamaContextSequence, tokens: Token[]): number =>
  cache.compareContextTokens(tokens).firstDifferentIndex;
