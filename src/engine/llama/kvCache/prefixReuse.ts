import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/**
 * Prefix reuse (prefix caching): keeps the part of a KV cache that equals the start of a prompt, token for token, and
 * erases the rest.
 * @returns the number of reused tokens; 0 if the cache cannot resume there: see `canResumeAt`.
 */
export async function reusePrefix(cache: LlamaContextSequence, tokens: Token[]): Promise<number> {
  const prefixLength = cachedPrefixLength(cache, tokens);
  // No context shift (the `false`): it would also keep later tokens that were computed after text that is now erased.
  await cache.adaptStateToTokens(canResumeAt(cache, prefixLength) ? tokens : [], false);
  return cache.nextTokenIndex;
}

/**
 * Whether a cache can resume after its first `count` tokens. A sliding-window cache has lost the tokens before its window,
 * and a recurrent state is valid at its end only. Otherwise the library would resume with half a window, or evaluate
 * everything again in one step that cannot be cancelled.
 */
function canResumeAt(cache: LlamaContextSequence, count: number): boolean {
  if (count === cache.nextTokenIndex || !cache.needsCheckpoints) return true;
  const windowTokens = cache.model.fileInsights.swaSize ?? 1;
  return cache.stateCellsStartIndex <= Math.max(0, count - windowTokens);
}

/** Prefill: evaluates the tokens up to index `end`, a chunk at a time, until `shouldStop` returns true. */
export async function prefill(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  options: { readonly end: number; readonly chunkTokens: number; readonly shouldStop: () => boolean },
): Promise<void> {
  const { end, chunkTokens, shouldStop } = options;
  while (cache.nextTokenIndex < end && !shouldStop()) {
    const start = cache.nextTokenIndex;
    await cache.evaluateWithoutGeneratingNewTokens(tokens.slice(start, Math.min(start + chunkTokens, end)));
  }
}

/** The number of leading tokens that a KV cache holds already. */
export const cachedPrefixLength = (cache: LlamaContextSequence, tokens: Token[]): number =>
  cache.compareContextTokens(tokens).firstDifferentIndex;
