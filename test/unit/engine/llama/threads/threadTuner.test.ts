import { describe, expect, it } from 'vitest';
import {
  ThreadTuner,
  fewestNearFastest,
  threadCandidates,
} from '../../../../../src/engine/llama/threads/threadTuner.ts';

/** A machine in simulated time: how long a token takes with so many threads, now. */
type Machine = (count: number, second: number) => number;

const quiet: Machine = (count) => 40 / count;
/** Another program has taken cores: threads that have to share one hold up all. */
const crowded =
  (free: number): Machine =>
  (count) =>
    count > free ? 500 : 40 / count;

/** Writes for so many seconds; gives how many tokens, and the count of threads at the end of each second. */
function write(
  threads: ThreadTuner,
  machine: Machine,
  seconds: number,
  from = 0,
): { tokens: number; counts: number[] } {
  const counts: number[] = [];
  let tokens = 0;
  for (let now = from * 1000; now < (from + seconds) * 1000; tokens++) {
    const ms = machine(threads.count, now / 1000);
    now += ms;
    threads.onDecodeBatch(1, ms, now);
    counts[Math.floor(now / 1000) - from] = threads.count;
  }
  return { tokens, counts };
}

const times = new Map([1, 2, 4, 8].map((count) => [count, quiet(count, 0)]));
const eight = (): ThreadTuner => new ThreadTuner({ maxThreads: 8, timings: times, initialThreads: 8 });

describe('the number of threads', () => {
  it('is chosen among 1, 2, 4, ... and the most', () => {
    expect(threadCandidates(1)).toEqual([1]);
    expect(threadCandidates(6)).toEqual([1, 2, 4, 6]);
    expect(threadCandidates(8)).toEqual([1, 2, 4, 8]);
  });

  it('is the smallest that is nearly the fastest', () => {
    expect(fewestNearFastest(times, 16)).toBe(8);
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

  it('leaves a core to the server itself, unless all of them are far quicker', () => {
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

  it('stays where it is while nothing happens', () => {
    expect(new Set(write(eight(), quiet, 300).counts)).toEqual(new Set([8]));
  });

  it('falls within seconds when other programs take the cores, and rises again when they end', () => {
    const threads = eight();
    write(threads, quiet, 10);
    const busy = write(threads, crowded(2), 30, 10);
    expect(threads.count).toBe(2);
    expect(busy.counts.indexOf(2)).toBeLessThan(12);
    write(threads, quiet, 120, 40);
    expect(threads.count).toBe(8);
  });

  it('costs little to try while the cores stay taken', () => {
    const threads = eight();
    write(threads, crowded(2), 30);
    const { tokens } = write(threads, crowded(2), 300, 30);
    expect(tokens).toBeGreaterThan(0.95 * (300_000 / crowded(2)(2, 0)));
  });

  it('is found where the measurement was made while the machine was busy', () => {
    const threads = new ThreadTuner({
      maxThreads: 4,
      timings: new Map([1, 2, 4].map((count) => [count, crowded(1)(count, 0)])),
      initialThreads: 1,
    });
    write(threads, quiet, 600);
    expect(threads.count).toBe(4);
  });

  it('is left alone where fewer are no better: then everything has become slow', () => {
    const threads = eight();
    write(threads, quiet, 10);
    const slow: Machine = (count) => 200 / count;
    write(threads, slow, 30, 10);
    expect(threads.count).toBe(8);
  });

  it.each([
    {
      when: 'while agents come and go, so that batches change their width',
      width: (now: number) => (Math.floor(now / 300) % 2 === 0 ? 1 : 2),
      ms: { one: 22, two: 110 },
    },
    { when: 'for a width of which nothing is known yet', width: () => 8, ms: { one: 60, two: 300 } },
  ])('is found $when', ({ width, ms }) => {
    const times = new Map([
      [1, 20],
      [2, 11],
    ]);
    const threads = new ThreadTuner({ maxThreads: 2, timings: times, initialThreads: 2 });
    for (let now = 0; now < 20_000;) {
      const took = threads.count === 2 ? ms.two : ms.one;
      now += took;
      threads.onDecodeBatch(width(now), took, now);
    }
    expect(threads.count).toBe(1);
  });

  it('is found by trying where the measurement at load was misleading', () => {
    const misled = new ThreadTuner({
      maxThreads: 2,
      timings: new Map([
        [1, 10],
        [2, 11],
      ]),
      initialThreads: 1,
    });
    write(misled, quiet, 5);
    expect(misled.count).toBe(2);
    const greedy = new ThreadTuner({
      maxThreads: 2,
      timings: new Map([
        [1, 11],
        [2, 10],
      ]),
      initialThreads: 2,
    });
    write(greedy, (count) => (count === 2 ? 24 : 20), 10);
    expect(greedy.count).toBe(1);
  });

  it('is judged among batches of about the same width only', () => {
    const threads = eight();
    for (let now = 0; now < 60_000; now += 100) {
      const wide = now % 200 === 0;
      threads.onDecodeBatch(wide ? 8 : 1, (wide ? 800 : 40) / threads.count, now);
    }
    expect(threads.count).toBe(8);
  });
});
