import type { BatchItem, PrioritizedBatchItem } from 'node-llama-cpp';

// Tokens of prompts in a batch beside others' next tokens: less would waste the processor, more would make text stutter.
const besideOthers = 64;

/**
 * Who gets how much of a batch: first the next token of everybody who writes, then prompts, which share what is left
 * evenly, so that a short one is never behind a long one.
 */
export function fairShare(items: readonly BatchItem[], size: number): PrioritizedBatchItem[] {
  const writing = items.filter(({ tokens }) => tokens.length === 1).slice(0, size);
  const reading = items.filter(({ tokens }) => tokens.length > 1).toSorted((a, b) => a.tokens.length - b.tokens.length);
  let room = writing.length === 0 ? size : Math.min(size - writing.length, besideOthers);
  const shares = reading.map((item, index) => {
    const share = Math.max(1, Math.floor(room / (reading.length - index)));
    const processAmount = Math.min(item.tokens.length, share, room);
    room -= processAmount;
    return { item, processAmount };
  });
  const next = writing.map((item) => ({ item, processAmount: 1 }));
  return [...next, ...shares.filter(({ processAmount }) => processAmount > 0)];
}

/** What a batch is made of: sequences that write their next token, and tokens of prompts. */
export interface BatchShape {
  readonly writing: number;
  readonly reading: number;
}

export function shapeOf(batch: readonly PrioritizedBatchItem[]): BatchShape {
  const writing = batch.filter(({ item }) => item.tokens.length === 1).length;
  const tokens = batch.reduce((sum, { processAmount }) => sum + processAmount, 0);
  return { writing, reading: tokens - writing };
}
