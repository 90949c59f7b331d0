import { describe, expect, it } from 'vitest';
import type { BatchItem } from 'node-llama-cpp';
import { scheduleBatch, batchLoad } from '../../../../../src/engine/llama/batching/batchScheduler.ts';

const size = 256;

// The scheduler does not read the values of tokens.
const batchItem = (tokens: number): BatchItem => ({ tokens: Array(tokens).fill(0), logits: [], evaluationPriority: 5 });

/** Schedules items with these numbers of tokens. Returns how many tokens of each are in the batch. */
function scheduledTokens(...tokens: number[]): readonly number[] {
  const items = tokens.map(batchItem);
  const batch = scheduleBatch(items, size);
  return items.map((item) => batch.find((other) => other.item === item)?.processAmount ?? 0);
}

describe('a batch', () => {
  it('is filled by one prompt while no sequence decodes', () => {
    expect(scheduledTokens(4000)).toEqual([256]);
    expect(scheduledTokens(100)).toEqual([100]);
  });

  it('contains the next token of all decoding sequences and 65 tokens of a long prompt', () => {
    expect(scheduledTokens(1, 4000, 1, 1)).toEqual([1, 65, 1, 1]);
  });

  it('contains short prompts completely in addition to a long one', () => {
    expect(scheduledTokens(4000, 20)).toEqual([65, 20]);
    expect(scheduledTokens(4000, 20, 1)).toEqual([65, 20, 1]);
  });

  it('is shared evenly by long prompts', () => {
    expect(scheduledTokens(4000, 4000)).toEqual([128, 128]);
    expect(scheduledTokens(1, 4000, 4000)).toEqual([1, 32, 33]);
  });

  it('never exceeds its size', () => {
    const many = Array.from({ length: 300 }, () => 1);
    expect(scheduledTokens(...many).reduce((sum, share) => sum + share)).toBe(256);
    const prompts = Array.from({ length: 100 }, () => 50);
    expect(scheduledTokens(1, ...prompts).reduce((sum, share) => sum + share)).toBe(256);
    expect(scheduledTokens(...Array.from({ length: 256 }, () => 1), 50).at(-1)).toBe(0);
  });

  it('has a load of decoding sequences and prefill tokens', () => {
    expect(batchLoad(scheduleBatch([batchItem(1), batchItem(4000), batchItem(1)], size))).toEqual({
      decode: 2,
      prefill: 65,
    });
  });
});
