import { describe, expect, it } from 'vitest';
import {
  ThreadTuner,
  fewestNearFastest,
  threadCandidates,
} from '../../../../../src/inference/llama/threads/threadTuner.ts';

/** A simulated machine: milliseconds per token with `count` threads at a time. */
type Machine = (count: number, second: number) => number;

const idle: Machine = (count) => 40 / count;
/** Other programs use cores: threads that share a core delay all others. */
const crowded =
  (free: number): Machine =>
  (count) =>
    count > free ? 500 : 40 / count;

/** Simulates decoding. Returns the number of tokens, and the thread count at the end of each second. */
function simulate(
  tuner: ThreadTuner,
  machine: Machine,
  seconds: number,
  from = 0,
): { tokens: number; counts: number[] } {
  const counts: number[] = [];
  let tokens = 0;
  for (let now = from * 1000; now < (from + seconds) * 1000; tokens++) {
    const ms = machine(tuner.count, now / 1000);
    now += ms;
    tuner.onDecodeBatch(ms, now);
    counts[Math.floor(now / 1000) - from] = tuner.count;
  }
  return { tokens, counts };
}

const timings = new Map([1, 2, 4, 8].map((count) => [count, idle(count, 0)]));
const createTuner = (): ThreadTuner => new ThreadTuner({ maxThreads: 8, timings, initialThreads: 8 });

describe('the number of threads', () => {
  it('is chosen from 1, 2, 4, ... and the maximum', () => {
    expect(threadCandidates(1)).toEqual([1]);
    expect(threadCandidates(6)).toEqual([1, 2, 4, 6]);
    expect(threadCandidates(8)).toEqual([1, 2, 4, 8]);
  });

  it('is the smallest that is nearly as fast as the fastest', () => {
    expect(fewestNearFastest(timings, 16)).toBe(8);
    expect(
      fewestNearFastest(
        new Map([
          [1, 10.4],
          [2, 10],
          [4, 30],
        ]),
        4,
      ),
    ).toBe(1);
  });

  it('leaves a core to the server, unless all cores are much faster', () => {
    expect(
      fewestNearFastest(
        new Map([
          [1, 12],
          [2, 10],
        ]),
        2,
      ),
    ).toBe(1);
    expect(
      fewestNearFastest(
        new Map([
          [1, 20],
          [2, 10],
        ]),
        2,
      ),
    ).toBe(2);
  });

  it('stays the same while the speed does not change', () => {
    expect(new Set(simulate(createTuner(), idle, 300).counts)).toEqual(new Set([8]));
  });

  it('falls within seconds when other programs use the cores, and rises again when they end', () => {
    const tuner = createTuner();
    simulate(tuner, idle, 10);
    const busy = simulate(tuner, crowded(2), 30, 10);
    expect(tuner.count).toBe(2);
    expect(busy.counts.indexOf(2)).toBeLessThan(12);
    simulate(tuner, idle, 120, 40);
    expect(tuner.count).toBe(8);
  });

  it('costs less than 5 % by trials while the cores stay busy', () => {
    const tuner = createTuner();
    simulate(tuner, crowded(2), 30);
    const { tokens } = simulate(tuner, crowded(2), 300, 30);
    expect(tokens).toBeGreaterThan(0.95 * (300_000 / crowded(2)(2, 0)));
  });

  it('is corrected when the benchmark ran on a busy machine', () => {
    const tuner = new ThreadTuner({
      maxThreads: 4,
      timings: new Map([1, 2, 4].map((count) => [count, crowded(1)(count, 0)])),
      initialThreads: 1,
    });
    simulate(tuner, idle, 600);
    expect(tuner.count).toBe(4);
  });

  it('stays the same when fewer threads are no faster', () => {
    const tuner = createTuner();
    simulate(tuner, idle, 10);
    const slow: Machine = (count) => 200 / count;
    simulate(tuner, slow, 30, 10);
    expect(tuner.count).toBe(8);
  });

  it('is corrected by trials when the benchmark was misleading', () => {
    const tooFew = new ThreadTuner({
      maxThreads: 2,
      timings: new Map([
        [1, 10],
        [2, 11],
      ]),
      initialThreads: 1,
    });
    simulate(tooFew, idle, 5);
    expect(tooFew.count).toBe(2);
    const tooMany = new ThreadTuner({
      maxThreads: 2,
      timings: new Map([
        [1, 11],
        [2, 10],
      ]),
      initialThreads: 2,
    });
    simulate(tooMany, (count) => (count === 2 ? 24 : 20), 10);
    expect(tooMany.count).toBe(1);
  });

  it('is the one with the smaller mean, when only some batches of the other stall', () => {
    // Measured on two cores: with both, most batches take 8 ms instead of 12, and one in four takes 40.
    let batches = 0;
    const stalling: Machine = (count) => (count === 1 ? 12 : batches++ % 4 === 3 ? 40 : 8);
    for (const initialThreads of [1, 2]) {
      const timings = new Map([
        [1, 12],
        [2, 8],
      ]);
      const tuner = new ThreadTuner({ maxThreads: 2, timings, initialThreads });
      const { tokens, counts } = simulate(tuner, stalling, 120);
      expect(counts.filter((count) => count === 2).length).toBeLessThan(8);
      expect(tokens).toBeGreaterThan(0.97 * (120_000 / 12));
    }
  });
});
