import type { BatchItem, PrioritizedBatchItem } from 'node-llama-cpp';

// Prefill tokens in a batch that also decodes: more would make the other agents' text stutter. On the CPU llama.cpp may
// compute the first of them together with the decode tokens, and the rest by itself. 64 in a row are twice as fast, and
// are accumulated in 32 bits; fewer are computed one by one, and accumulated in 16 bits.
const maxPrefillTokensWhileDecoding = 65;

/**
 * Batch scheduler (continuous batching with chunked prefill): chooses how many tokens of each sequence are in the next
 * batch. Short items are taken whole: the next token of each sequence that decodes, a new message after a cached dialog.
 * Long prompts share the rest evenly, and get little while other sequences need the batch. Items of a higher priority come
 * first: those of a lower one neither slow down their prompts nor take their place.
 * @param size maximum number of tokens in a batch.
 */
export function scheduleBatch(items: readonly BatchItem[], size: number): PrioritizedBatchItem[] {
  const ordered = items.toSorted(
    (a, b) => b.evaluationPriority - a.evaluationPriority || a.tokens.length - b.tokens.length,
  );
  const short = ordered.filter(({ tokens }) => tokens.length <= maxPrefillTokensWhileDecoding);
  const long = ordered.filter((item) => !short.includes(item));
  const shares = divideEvenly(short, size);
  let tokensLeft = size - tokensOf(shares);
  let prefillLeft = maxPrefillTokensWhileDecoding;
  for (const priority of new Set(long.map(({ evaluationPriority }) => evaluationPriority))) {
    const needsSharing = short.some(({ evaluationPriority }) => evaluationPriority >= priority);
    const tokens = needsSharing ? Math.min(tokensLeft, prefillLeft) : tokensLeft;
    const longShares = divideEvenly(
      long.filter(({ evaluationPriority }) => evaluationPriority === priority),
      tokens,
    );
    shares.push(...longShares);
    tokensLeft -= tokensOf(longShares);
    prefillLeft = Math.max(0, prefillLeft - tokensOf(longShares));
  }
  return shares;
}

const tokensOf = (shares: readonly PrioritizedBatchItem[]): number =>
  shares.reduce((sum, { processAmount }) => sum + processAmount, 0);

/** Divides tokens among items, the shortest first, so that what one does not need is left for the next ones. */
function divideEvenly(items: readonly BatchItem[], tokens: number): PrioritizedBatchItem[] {
  let tokensLeft = tokens;
  const shares = items.map((item, index) => {
    const evenShare = Math.max(1, Math.floor(tokensLeft / (items.length - index)));
    const processAmount = Math.min(item.tokens.length, evenShare, tokensLeft);
    tokensLeft -= processAmount;
    return { item, processAmount };
  });
  return shares.filter(({ processAmount }) => processAmount > 0);
}

/** What a batch consists of, in tokens: one decode token for each generating sequence, and prefill tokens of prompts. */
export interface BatchLoad {
  readonly decode: number;
  readonly prefill: number;
}

export function batchLoad(batch: readonly PrioritizedBatchItem[]): BatchLoad {
  const decode = batch.filter(({ item }) => item.tokens.length === 1).length;
  return { decode, prefill: tokensOf(batch) - decode };
}
