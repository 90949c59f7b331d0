import { describe, expect, it } from 'vitest';
import type { BatchItem } from 'node-llama-cpp';
import { batchLoad, scheduleBatch } from '../../../../../src/inference/llama/batching/batchScheduler.ts';

const size = 256;

// The scheduler does not read the values of tokens.
const batchItem = (tokens: number, evaluationPriority: BatchItem['evaluationPriority'] = 3): BatchItem => ({
  tokens: Array(tokens).fill(0),
  logits: [],
  evaluationPriority,
});

/** Schedules items with these numbers of tokens. Returns how many tokens of each are in the batch. */
function scheduledTokens(...tokens: number[]): readonly number[] {
  const items = tokens.map((count) => batchItem(count));
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
    expect(scheduledTokens(4000, 4000, 4000, 4000)).toEqual([64, 64, 64, 64]);
  });

  it.each([
    ['prompts that would leave little', [77, 76, 78, 77], [77, 76, 0, 77]],
    ['a prompt that would leave little beside tokens', [1, 100, 1], [1, 100, 1]],
    ['the shortest of many prompts', [4000, 400, 4000, 300, 4000, 4000], [64, 64, 64, 64, 0, 0]],
    ['one of two prompts beside tokens', [1, 4000, 4000], [1, 65, 0]],
    ['prompts whose rest is computed fast', [300, 1], [65, 1]],
    ['as much as leaves a rest that is computed fast', [300], [236]],
    ['parts of two prompts whose rests are computed fast', [200, 200], [128, 128]],
    ['all that fits where nothing else is', [257], [193]],
  ] as const)('contains %s', (_, tokens, expected) => {
    expect(scheduledTokens(...tokens)).toEqual(expected);
  });

  it('never exceeds its size', () => {
    const many = Array.from({ length: 300 }, () => 1);
    expect(scheduledTokens(...many).reduce((sum, share) => sum + share)).toBe(256);
    const prompts = Array.from({ length: 100 }, () => 50);
    expect(scheduledTokens(1, ...prompts).reduce((sum, share) => sum + share)).toBe(251);
    expect(scheduledTokens(...Array.from({ length: 256 }, () => 1), 50).at(-1)).toBe(0);
  });

  it.each([
    ['an urgent prompt beside tokens of others', [4000, 5], [1, 3], [1, 1], [254, 1, 1]],
    ['an urgent prompt beside urgent tokens', [4000, 5], [1, 5], [4000, 3], [65, 1, 0]],
    ['urgent tokens beside prompts of others', [1, 5], [4000, 3], [4000, 1], [1, 65, 0]],
    ['an urgent prompt beside other prompts', [300, 5], [4000, 3], [4000, 1], [236, 0, 0]],
    ['a prompt beside tokens in the background', [4000, 3], [1, 1], [1, 1], [254, 1, 1]],
  ] as const)('contains first %s', (_, a, b, c, expected) => {
    const items = [a, b, c].map(([tokens, priority]) => batchItem(tokens, priority));
    const batch = scheduleBatch(items, size);
    expect(items.map((item) => batch.find((other) => other.item === item)?.processAmount ?? 0)).toEqual(expected);
  });

  it('has a load of decoding sequences and prefill tokens', () => {
    expect(batchLoad(scheduleBatch([batchItem(1), batchItem(4000), batchItem(1)], size))).toEqual({
      decode: 2,
      prefill: 65,
    });
  });
});
