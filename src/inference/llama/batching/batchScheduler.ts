import type { BatchItem, PrioritizedBatchItem } from 'node-llama-cpp';

/**
 * On the CPU llama.cpp computes the attention of so many tokens of a sequence in one step, and of fewer one by one: these take
 * two to three times as long each, and are accumulated in 16 bits instead of 32. Measured with a prompt of 1,100 tokens on a
 * model of 135M parameters.
 */
export const fastTokens = 64;

// More in a batch that also decodes would make the other agents' text stutter. See `divide` for the one token more.
const maxPrefillTokensWhileDecoding = fastTokens + 1;
// A longer prompt can be divided into two parts that are computed fast.
const maxShortTokens = 2 * fastTokens;

/**
 * Batch scheduler (continuous batching with chunked prefill): chooses how many tokens of each sequence are in the next
 * batch. Short items are taken whole: the next token of each sequence that decodes, a new message after a cached dialog.
 * Long prompts share the rest evenly, and get little while other sequences need the batch. Items of a higher priority come
 * first: those of a lower one neither slow down their prompts nor take their place. A prompt of which so little fits that it
 * would be computed slowly (`fastTokens`) waits for the next batch.
 * @param size maximum number of tokens in a batch.
 */
export function scheduleBatch(items: readonly BatchItem[], size: number): PrioritizedBatchItem[] {
  const ordered = items.toSorted(
    (a, b) => b.evaluationPriority - a.evaluationPriority || a.tokens.length - b.tokens.length,
  );
  const short = ordered.filter(({ tokens }) => tokens.length <= maxShortTokens);
  const long = ordered.filter((item) => !short.includes(item));
  const minShare = items.some(({ tokens }) => tokens.length === 1) ? fastTokens + 1 : fastTokens;
  const shares = divide(short, size, minShare);
  let tokensLeft = size - tokensOf(shares);
  let prefillLeft = maxPrefillTokensWhileDecoding;
  for (const priority of new Set(long.map(({ evaluationPriority }) => evaluationPriority))) {
    const needsSharing = short.some(({ evaluationPriority }) => evaluationPriority >= priority);
    const tokens = needsSharing ? Math.min(tokensLeft, prefillLeft) : tokensLeft;
    if (tokens < fastTokens && shares.length > 0) continue;
    const group = long.filter(({ evaluationPriority }) => evaluationPriority === priority);
    const longShares = divide(group, tokens, minShare);
    shares.push(...longShares);
    tokensLeft -= tokensOf(longShares);
    prefillLeft = Math.max(0, prefillLeft - tokensOf(longShares));
  }
  return shares;
}

const tokensOf = (shares: readonly PrioritizedBatchItem[]): number =>
  shares.reduce((sum, { processAmount }) => sum + processAmount, 0);

/**
 * Divides tokens among items, the shortest first: each gets an even share, so that what one does not need is left for the
 * next ones, but at least `minShare`. One for which less is left waits, if others are served.
 * @param minShare `fastTokens`; one more in a batch that decodes, since llama.cpp computes the first token of each sequence
 * together, and then what is left of the longer ones.
 */
function divide(items: readonly BatchItem[], tokens: number, minShare: number): PrioritizedBatchItem[] {
  const shares: PrioritizedBatchItem[] = [];
  let tokensLeft = tokens;
  for (const [index, item] of items.entries()) {
    const { length } = item.tokens;
    const evenShare = Math.max(minShare, Math.floor(tokensLeft / (items.length - index)));
    const share = Math.min(length, evenShare, tokensLeft);
    const processAmount = length - share < minShare ? wholeOrTwoParts(length, share, tokensLeft, minShare) : share;
    const isSlow = processAmount < length && Math.min(processAmount, length - processAmount) < minShare;
    if (processAmount === 0 || (isSlow && shares.length > 0)) continue;
    tokensLeft -= processAmount;
    shares.push({ item, processAmount });
  }
  return shares;
}

/** How much of an item is taken of which a share would leave little: all of it, or so that the rest is computed fast. */
function wholeOrTwoParts(length: number, share: number, tokensLeft: number, minShare: number): number {
  if (length <= tokensLeft) return length;
  return length >= 2 * minShare ? Math.min(share, length - minShare) : share;
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

/** Queue of callbacks that run while the next batch is being computed, when the JavaScript thread is idle. */
export class DeferredQueue {
  #callbacks: (() => void)[] = [];

  /** Adds a callback, which must not throw. It never runs if no batch follows. */
  defer(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  /** A batch is about to be computed: the callbacks run once its computation has started. */
  runDeferred(): void {
    const callbacks = this.#callbacks;
    if (callbacks.length === 0) return;
    this.#callbacks = [];
    setImmediate(() => callbacks.forEach((callback) => callback()));
  }
}
