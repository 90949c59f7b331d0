import { describe, expect, it } from 'vitest';
import type { BatchItem } from 'node-llama-cpp';
import { scheduleBatch, batchLoad } from '../../../../../src/engine/llama/batching/batchScheduler.ts';

const size = 256;

// The tokens themselves are never looked at.
const waiting = (tokens: number): BatchItem => ({ tokens: Array(tokens).fill(0), logits: [], evaluationPriority: 5 });

/** What of each item goes into a batch. */
function shares(...tokens: number[]): readonly number[] {
  const items = tokens.map(waiting);
  const batch = scheduleBatch(items, size);
  return items.map((item) => batch.find((other) => other.item === item)?.processAmount ?? 0);
}

describe('a batch', () => {
  it('is a whole chunk of a prompt while nobody writes', () => {
    expect(shares(4000)).toEqual([256]);
    expect(shares(100)).toEqual([100]);
  });

  it('holds the next token of all who write, and a piece of a long prompt of which 64 are left when they have one', () => {
    expect(shares(1, 4000, 1, 1)).toEqual([1, 65, 1, 1]);
  });

  it('takes short prompts whole beside a long one', () => {
    expect(shares(4000, 20)).toEqual([65, 20]);
    expect(shares(4000, 20, 1)).toEqual([65, 20, 1]);
  });

  it('divides evenly among long prompts', () => {
    expect(shares(4000, 4000)).toEqual([128, 128]);
    expect(shares(1, 4000, 4000)).toEqual([1, 32, 33]);
  });

  it('is never overfull, and nobody is left out for long', () => {
    const many = Array.from({ length: 300 }, () => 1);
    expect(shares(...many).reduce((sum, share) => sum + share)).toBe(256);
    const prompts = Array.from({ length: 100 }, () => 50);
    expect(shares(1, ...prompts).reduce((sum, share) => sum + share)).toBe(256);
    expect(shares(...Array.from({ length: 256 }, () => 1), 50).at(-1)).toBe(0);
  });

  it('tells how many write and how many tokens are read', () => {
    expect(batchLoad(scheduleBatch([waiting(1), waiting(4000), waiting(1)], size))).toEqual({
      decode: 2,
      prefill: 65,
    });
  });
});
