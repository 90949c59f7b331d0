import type { EvaluationPriority, LlamaContextSequence, Token } from 'node-llama-cpp';
import { checkpointsOf } from './checkpoints.ts';

/** Keeps what a KV cache has of a prompt's start, and erases the rest. @returns reused tokens. */
export async function reusePrefix(cache: LlamaContextSequence, tokens: Token[]): Promise<number> {
  const length = reusableLength(cache, tokens);
  // No context shift (the `false`): it would also keep later tokens that were computed after text that is now erased.
  await cache.adaptStateToTokens(tokens.slice(0, length), false);
  return cache.nextTokenIndex;
}

/** After how many of `count` tokens a cache can resume. Elsewhere it would evaluate some in a step without cancel. */
function resumableLength(cache: LlamaContextSequence, count: number): number {
  if (count >= minResumableLength(cache)) return count;
  return checkpointsOf(cache).findLast(({ tokens }) => tokens <= count && tokens > 1)?.tokens ?? 0;
}

/**
 * The fewest tokens to which a cache can be cut back without a checkpoint. A recurrent state is that of its last token, and
 * a sliding-window cache must hold the whole window before the next one: see `correctWindowStart`.
 */
function minResumableLength(cache: LlamaContextSequence): number {
  if (!cache.needsCheckpoints) return 0;
  return isRecurrent(cache) ? cache.nextTokenIndex : Math.max(0, cache.stateCellsStartIndex + 1);
}

/** Whether a cache has the state of its last token, in some layers at least, and cannot be cut back without a checkpoint. */
export const isRecurrent = ({ model }: LlamaContextSequence): boolean =>
  model.fileInsights.isRecurrent || model.fileInsights.isHybrid;

export interface PrefillOptions {
  readonly chunkTokens: number;
  readonly shouldStop: () => boolean;
  readonly evaluationPriority: EvaluationPriority;
  /** Evaluates a chunk when it may be computed, or leaves it when it may not. */
  readonly step: (work: () => Promise<void>) => Promise<unknown>;
}

/** Prefill: evaluates the tokens up to index `end`, a chunk at a time, until `shouldStop` returns true. */
export async function prefill(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  end: number,
  { chunkTokens, evaluationPriority, shouldStop, step }: PrefillOptions,
): Promise<void> {
  while (cache.nextTokenIndex < end && !shouldStop()) {
    const start = cache.nextTokenIndex;
    const chunk = tokens.slice(start, Math.min(start + chunkTokens, end));
    await step(() => cache.evaluateWithoutGeneratingNewTokens(chunk, { evaluationPriority }));
  }
}

/** The number of leading tokens that need not be evaluated again. */
export const reusableLength = (cache: LlamaContextSequence, tokens: Token[]): number =>
  resumableLength(cache, cachedPrefixLength(cache, tokens));

/** The number of leading tokens that a KV cache holds already. */
export const cachedPrefixLength = (cache: LlamaContextSequence, tokens: Token[]): number =>
  cache.compareContextTokens(tokens).firstDifferentIndex;
