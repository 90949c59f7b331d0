import { describe, expect, it } from 'vitest';
import {
  BatchThreads,
  decodeTuners,
  type DecodeTuners,
  ThreadCap,
} from '../../../../../src/inference/llama/threads/batchThreads.ts';
import { fullPace, Pace } from '../../../../../src/inference/contract/pace.ts';
import type { BatchLoad } from '../../../../../src/inference/llama/batching/batchScheduler.ts';
import { PrefillTuner } from '../../../../../src/inference/llama/threads/prefillTuner.ts';

const timings = new Map([
  [1, 10],
  [2, 16],
]);
const createDecodeTuners = (): DecodeTuners => decodeTuners({ maxThreads: 2, timings, initialThreads: 1 });

const unknownCores = { current: () => undefined, mean: () => undefined };

/** Two cores: one thread for decoding, two for prefill. */
function createThreads(freeCores: ConstructorParameters<typeof BatchThreads>[1] = unknownCores): BatchThreads {
  const threads = new BatchThreads(2, freeCores);
  threads.tune({ decode: createDecodeTuners(), prefill: new PrefillTuner(2) });
  return threads;
}

const batch = (load: BatchLoad, ms: number, endedAt: number, cores = 1) => ({ load, ms, cpuMs: ms * cores, endedAt });

describe('the threads of a batch', () => {
  it.each<BatchLoad & { threads: number; what: string }>([
    { what: 'one next token', decode: 1, prefill: 0, threads: 1 },
    { what: 'next tokens of many sequences', decode: 40, prefill: 0, threads: 2 },
    { what: 'a short message', decode: 0, prefill: 15, threads: 1 },
    { what: 'a longer message', decode: 0, prefill: 16, threads: 2 },
    { what: 'a chunk of a long prompt', decode: 0, prefill: 256, threads: 2 },
    { what: 'a chunk beside next tokens', decode: 3, prefill: 65, threads: 2 },
    { what: 'few prompt tokens beside next tokens', decode: 3, prefill: 5, threads: 2 },
  ])('with $what are $threads', ({ threads, ...load }) => {
    expect(createThreads().threadsFor(load)).toBe(threads);
  });

  it('are a fixed number until they are tuned', () => {
    const threads = new BatchThreads(4, unknownCores);
    threads.onBatch(batch({ decode: 0, prefill: 256 }, 500, 500), 4);
    expect([threads.decode, threads.prefill]).toEqual([4, 4]);
    threads.fix(2);
    expect([threads.decode, threads.prefill, threads.threadsFor({ decode: 0, prefill: 256 })]).toEqual([2, 2, 2]);
  });

  it('are those of decoding where the GPU computes', () => {
    const threads = new BatchThreads(2, unknownCores);
    threads.tune({ decode: createDecodeTuners(), prefill: undefined });
    expect(threads.prefill).toBe(1);
    threads.onBatch(batch({ decode: 0, prefill: 256 }, 500, 500), 1);
    expect(threads.threadsFor({ decode: 0, prefill: 256 })).toBe(1);
  });

  it('change for prefill only after slow prefill, alone or beside next tokens', () => {
    for (const load of [
      { decode: 0, prefill: 256 },
      { decode: 3, prefill: 65 },
    ]) {
      const threads = createThreads();
      threads.onBatch(batch(load, 5000, 5000), 2);
      expect([threads.decode, threads.prefill]).toEqual([1, 1]);
    }
  });

  it('change for decoding only after batches that only decode', () => {
    const fast = { decode: 1, prefill: 0 };
    const run = (load: BatchLoad): BatchThreads => {
      const threads = createThreads();
      for (let now = 0; now < 300_000; now += 10) {
        const count = threads.threadsFor(load);
        threads.onBatch(batch(load, load.prefill + (count === 2 ? 4 : 10), now, count), count);
      }
      return threads;
    };
    expect(run(fast).decode).toBe(2);
    expect(run({ decode: 1, prefill: 20 }).decode).toBe(1);
    expect(run({ decode: 1, prefill: 65 }).decode).toBe(1);
  });

  it.each([
    { title: 'fewer for one sequence than for four', one: [10, 16], four: [30, 20], counts: [1, 2] },
    { title: 'as few for four sequences, where threads stall', one: [20, 110], four: [60, 300], counts: [1, 1] },
    {
      title: 'more for one sequence than for four, where that is faster',
      one: [20, 11],
      four: [40, 60],
      counts: [2, 1],
    },
  ])('are $title', ({ one, four, counts }) => {
    const threads = createThreads();
    for (let now = 0; now < 400_000;) {
      const decode = Math.floor(now / 300) % 2 === 0 ? 1 : 4;
      const count = threads.threadsFor({ decode, prefill: 0 });
      const ms = (decode === 1 ? one : four)[count - 1] ?? 0;
      now += ms;
      threads.onBatch(batch({ decode, prefill: 0 }, ms, now), count);
    }
    expect([1, 4].map((decode) => threads.threadsFor({ decode, prefill: 0 }))).toEqual(counts);
  });

  it('of the first chunk of a prompt are the cores that are free then', () => {
    const chunk = { decode: 0, prefill: 256 };
    let free = 0.4;
    let asked = 0;
    const threads = createThreads({ ...unknownCores, current: () => (asked++, free) });
    const countAt = (now: number): number => {
      const count = threads.threadsFor(chunk, now);
      threads.onBatch(batch(chunk, 50, now + 50, count), count);
      return count;
    };
    expect(countAt(1000)).toBe(1);
    free = 2;
    expect([countAt(1055), countAt(1110), countAt(3000)]).toEqual([1, 1, 2]);
    free = 1;
    expect([threads.threadsFor({ decode: 1, prefill: 0 }, 9000), countAt(9000)]).toEqual([1, 1]);
    expect(asked).toBe(3);
  });

  it('are not tuned by batches that were computed with another number', () => {
    const threads = createThreads();
    threads.onBatch(batch({ decode: 0, prefill: 256 }, 500, 500), 1);
    expect(threads.prefill).toBe(2);
    for (let now = 0; now < 300_000; now += 10) threads.onBatch(batch({ decode: 1, prefill: 0 }, 4, now), 2);
    expect(threads.decode).toBe(1);
  });
});

describe('the largest number of threads of a batch', () => {
  it('is the lowest limit of the inferences in it, as it is at the time', () => {
    const cap = new ThreadCap();
    const [one, two, three] = [{}, {}, {}];
    expect(cap.limit(8)).toBe(8);
    const pace = new Pace({ ...fullPace, maxThreads: 4 });
    cap.enter(one, pace);
    cap.enter(two, new Pace({ ...fullPace, maxThreads: 2 }));
    cap.enter(three, undefined);
    expect(cap.limit(8)).toBe(2);
    pace.set({ ...fullPace, maxThreads: 1 });
    expect(cap.limit(8)).toBe(1);
    pace.set(fullPace);
    cap.leave(two);
    expect(cap.limit(8)).toBe(8);
  });

  it('is a share of those that the batch would have, and at least one', () => {
    const cap = new ThreadCap();
    const pace = new Pace({ ...fullPace, maxShare: 0.5 });
    cap.enter({}, pace);
    cap.enter({}, new Pace({ ...fullPace, maxShare: 0.9 }));
    expect([8, 3, 1].map((threads) => cap.limit(threads))).toEqual([4, 1, 1]);
    pace.set({ maxThreads: 3 });
    expect([8, 4].map((threads) => cap.limit(threads))).toEqual([3, 2]);
  });
});
