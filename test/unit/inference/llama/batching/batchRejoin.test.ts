import { describe, expect, it } from 'vitest';
import type { BatchItem } from 'node-llama-cpp';
import { BatchRejoin } from '../../../../../src/inference/llama/batching/batchRejoin.ts';

const item = (tokens = 1): BatchItem => ({ tokens: Array(tokens).fill(0), logits: [], evaluationPriority: 3 });

/** Asks until the batch is to be chosen. @returns how often it was to wait. */
function roundsOf(rejoin: BatchRejoin, items: readonly BatchItem[]): number {
  let rounds = 0;
  while (rejoin.shouldWait(items)) rounds++;
  return rounds;
}

describe('the next batch', () => {
  it('is chosen at once when there was none before', () => {
    expect(roundsOf(new BatchRejoin(), [item()])).toBe(0);
  });

  it('waits for the sequences of the last one, a limited number of rounds', () => {
    const rejoin = new BatchRejoin();
    const items = [item(), item(), item()];
    rejoin.onBatch(
      items,
      items.map((one) => ({ item: one, processAmount: 1 })),
    );
    expect(rejoin.shouldWait([item()])).toBe(true);
    expect(rejoin.shouldWait([item(), item()])).toBe(true);
    expect(rejoin.shouldWait([item(), item(), item()])).toBe(false);
    expect(roundsOf(rejoin, [item()])).toBeGreaterThan(7);
  });

  it('does not wait for a prompt of which a part was evaluated: it is there', () => {
    const rejoin = new BatchRejoin();
    const [token, prompt] = [item(), item(300)];
    rejoin.onBatch(
      [token, prompt],
      [
        { item: token, processAmount: 1 },
        { item: prompt, processAmount: 65 },
      ],
    );
    expect(roundsOf(rejoin, [prompt, item()])).toBe(0);
    expect(roundsOf(rejoin, [prompt])).toBeGreaterThan(0);
  });
});
