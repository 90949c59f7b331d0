import type { BatchItem, PrioritizedBatchItem } from 'node-llama-cpp';

// Tokens of long prompts in a batch beside others: more would make their text stutter. On the processor llama.cpp may
// compute the first one of a piece together with the tokens of those who write, and the rest by itself. Of 64 in a row it
// is twice as quick, and adds them up in 32 bits; fewer are done one by one, and added up in 16.
const maxPrefillTokensWhileDecoding = 65;

/**
 * Who gets how much of a batch. What is short goes in whole: the next token of everybody who writes, a new message
 * behind a dialog that was read. Long prompts share evenly what is left, and take little while others wait for the batch.
 */
export function scheduleBatch(items: readonly BatchItem[], size: number): PrioritizedBatchItem[] {
  const shortest = items.toSorted((a, b) => a.tokens.length - b.tokens.length);
  const short = shortest.filter(({ tokens }) => tokens.length <= maxPrefillTokensWhileDecoding);
  const long = shortest.slice(short.length);
  const slotMemory = divideEvenly(short, size);
  const left = size - slotMemory.reduce((sum, { processAmount }) => sum + processAmount, 0);
  return [
    ...slotMemory,
    ...divideEvenly(long, short.length === 0 ? size : Math.min(left, maxPrefillTokensWhileDecoding)),
  ];
}

/** Divides room among items, the shortest first, so that what one does not need goes to the next ones. */
function divideEvenly(items: readonly BatchItem[], size: number): PrioritizedBatchItem[] {
  let room = size;
  const shares = items.map((item, index) => {
    const even = Math.max(1, Math.floor(room / (items.length - index)));
    const processAmount = Math.min(item.tokens.length, even, room);
    room -= processAmount;
    return { item, processAmount };
  });
  return shares.filter(({ processAmount }) => processAmount > 0);
}

/** What a batch is made of: sequences that write their next token, and tokens of prompts. */
export interface BatchLoad {
  readonly decode: number;
  readonly prefill: number;
}

export function batchLoad(batch: readonly PrioritizedBatchItem[]): BatchLoad {
  const writing = batch.filter(({ item }) => item.tokens.length === 1).length;
  const tokens = batch.reduce((sum, { processAmount }) => sum + processAmount, 0);
  return { decode: writing, prefill: tokens - writing };
}
