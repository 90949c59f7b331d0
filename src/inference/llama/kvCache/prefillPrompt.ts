import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { fastTokens } from '../batching/batchScheduler.ts';
import { checkpointsOf, checkpointKinds, takeCheckpoint, type CheckpointKind } from './checkpoints.ts';
import { prefill, reusePrefix, type PrefillOptions } from './prefixReuse.ts';

/** Where checkpoints of a prompt are taken, in tokens from its start. */
export type CheckpointPlaces = Readonly<Partial<Record<CheckpointKind, number>>>;

/**
 * Reuses the cached prefix of a prompt and prefills whole chunks; the remainder is left to be evaluated with the last token,
 * of which logits are needed. Where the cache needs checkpoints, the prefill stops at their places and takes them.
 * @returns the number of reused tokens.
 */
export async function prefillPrompt(
  cache: LlamaContextSequence,
  tokens: Token[],
  options: PrefillOptions & { readonly checkpoints?: CheckpointPlaces | undefined },
): Promise<number> {
  const { chunkTokens, shouldStop, checkpoints = {} } = options;
  const reused = await reusePrefix(cache, tokens.slice(0, -1));
  if (cache.needsCheckpoints) {
    for (const [kind, place] of inOrder(checkpoints)) {
      if (shouldStop()) return reused;
      const isAhead = cache.nextTokenIndex <= place && place < tokens.length;
      if (!isAhead || place < minTokens || isNear(cache, kind, place)) continue;
      // So few tokens are evaluated faster with those after them.
      const isHere = place - cache.nextTokenIndex <= nearTokens && cache.nextTokenIndex > 0;
      if (!isHere) await prefill(cache, tokens, place, options);
      if (isHere || cache.nextTokenIndex === place) await takeCheckpoint(cache, kind);
    }
  }
  await prefill(cache, tokens, tokens.length - remainderOf(tokens.length - cache.nextTokenIndex, chunkTokens), options);
  return reused;
}

/**
 * How many of the tokens that are to be evaluated remain after whole chunks. Fewer than `fastTokens` take longer, so the last
 * chunk leaves more to them.
 */
function remainderOf(tokens: number, chunkTokens: number): number {
  const remainder = ((tokens - 1) % chunkTokens) + 1;
  return tokens > chunkTokens && chunkTokens >= 2 * fastTokens ? Math.max(remainder, fastTokens) : remainder;
}

const inOrder = (places: CheckpointPlaces): readonly (readonly [CheckpointKind, number])[] =>
  checkpointKinds
    .flatMap((kind) => (places[kind] === undefined ? [] : [[kind, places[kind]] as const]))
    .toSorted(([, a], [, b]) => a - b);

/** Whether a checkpoint that stays as long as one of this kind is almost at its place. */
const isNear = (cache: LlamaContextSequence, kind: CheckpointKind, place: number): boolean =>
  checkpointsOf(cache).some(
    (checkpoint) =>
      checkpoint.tokens <= place &&
      checkpoint.tokens >= place - nearTokens &&
      (checkpoint.kind === kind || checkpoint.kind === 'head' || kind === 'message'),
  );

/** Evaluating fewer tokens takes less time than restoring a checkpoint. */
const minTokens = 16;
const nearTokens = 8;
