import { describe, expect, it } from 'vitest';
import { BatchTimer } from '../../../../../src/inference/llama/batching/batchTimer.ts';
import { chunkMs } from '../../../../../src/inference/llama/createContext.ts';

/** What is expected of a chunk of 256 tokens after batches of so many tokens and milliseconds; one token: decoded. */
function expectedAfter(...batches: readonly (readonly [tokens: number, ms: number])[]): number | undefined {
  const timer = new BatchTimer(() => undefined);
  for (const [tokens, ms] of batches) {
    timer.start(tokens === 1 ? { decode: 1, prefill: 0 } : { decode: 0, prefill: tokens }, 0);
    timer.end(ms);
  }
  return chunkMs(timer, new Map());
}

describe('the time that a prefill chunk is expected to take', () => {
  it('is not known before the first batch', () => {
    expect(expectedAfter()).toBeUndefined();
  });

  it('is that of the prompts before it', () => {
    expect(expectedAfter([128, 640], [1, 20])).toBe(5 * 256);
  });

  it('is at most that of as many decoded tokens, also where the first prompt was short and held up', () => {
    // 17 tokens in 2.2 s: 33 s for a chunk, and 11 minutes until a hang is noticed.
    expect(expectedAfter([17, 2210], [1, 20], [1, 20])).toBe(20 * 256);
  });

  it('is known after an answer to a prompt that says little of it', () => {
    expect(expectedAfter([8, 50], [1, 13])).toBe(13 * 256);
  });
});
