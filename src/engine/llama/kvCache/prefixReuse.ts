import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/**
 * Keeps of a KV cache what is the same, token for token, from the start of a prompt on, and erases the rest.
 * @returns how many tokens were kept: none where the cache has forgotten what the next one would have to look at.
 */
export async function reusePrefix(cache: LlamaContextSequence, tokens: Token[]): Promise<number> {
  const same = cachedPrefixLength(cache, tokens);
  // Never with shifting: that would keep later tokens too, which were computed behind text that is gone.
  await cache.adaptStateToTokens(canResumeAt(cache, same) ? tokens : [], false);
  return cache.nextTokenIndex;
}

/**
 * Whether a cache can go on behind its first tokens. Behind a sliding window it forgets, and a recurrent state is that of its
 * end only. The library would go on with half a window, or evaluate everything again in a step that nobody can halt.
 */
function canResumeAt(cache: LlamaContextSequence, count: number): boolean {
  if (count === cache.nextTokenIndex || !cache.needsCheckpoints) return true;
  const window = cache.model.fileInsights.swaSize ?? 1;
  return cache.stateCellsStartIndex <= Math.max(0, count - window);
}

/** Evaluates tokens up to a place, a chunk at a time, until halted. */
export async function prefill(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  options: { readonly end: number; readonly chunk: number; readonly shouldStop: () => boolean },
): Promise<void> {
  const { end, chunk: prefillChunkTokens, shouldStop } = options;
  while (cache.nextTokenIndex < end && !shouldStop()) {
    const at = cache.nextTokenIndex;
    await cache.evaluateWithoutGeneratingNewTokens(tokens.slice(at, Math.min(at + prefillChunkTokens, end)));
  }
}

/** How many of the tokens a KV cache holds, from the first on. */
export const cachedPrefixLength = (cache: LlamaContextSequence, tokens: Token[]): number =>
  cache.compareContextTokens(tokens).firstDifferentIndex;
