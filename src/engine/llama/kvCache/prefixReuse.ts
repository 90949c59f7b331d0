import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/**
 * Prefix reuse (prefix caching): keeps the part of a KV cache that equals the start of a prompt, token for token, and
 * erases the rest.
 * @returns the number of reused tokens: see `resumableLength`.
 */
export async function reusePrefix(cache: LlamaContextSequence, tokens: Token[]): Promise<number> {
  const length = resumableLength(cache, cachedPrefixLength(cache, tokens));
  // No context shift (the `false`): it would also keep later tokens that were computed after text that is now erased.
  await cache.adaptStateToTokens(tokens.slice(0, length), false);
  return cache.nextTokenIndex;
}

/**
 * How many of its first `count` tokens a cache can resume after. A sliding-window cache has lost the tokens before its window:
 * then it is none. A recurrent state is valid at its end and at its last checkpoint only. Otherwise the library would resume
 * with half a window, or evaluate everything again in one step that cannot be cancelled.
 */
function resumableLength(cache: LlamaContextSequence, count: number): number {
  if (count === cache.nextTokenIndex || !cache.needsCheckpoints) return count;
  if (isRecurrent(cache)) {
    // 0 = there is no checkpoint.
    const { lastCheckpointIndex } = cache;
    return lastCheckpointIndex > 0 && lastCheckpointIndex < count ? lastCheckpointIndex + 1 : 0;
  }
  const windowTokens = cache.model.fileInsights.swaSize ?? 1;
  return cache.stateCellsStartIndex <= Math.max(0, count - windowTokens) ? count : 0;
}

/** Whether a cache has the state of its last token, in some layers at least, and cannot be cut back without a checkpoint. */
export const isRecurrent = ({ model }: LlamaContextSequence): boolean =>
  model.fileInsights.isRecurrent || model.fileInsights.isHybrid;

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
