import { describe, expect, it } from 'vitest';
import { PrefillTuner } from '../../../../../src/inference/llama/threads/prefillTuner.ts';

/** A simulated machine with `count` threads at a time: milliseconds per prompt token, and the cores that they have. */
type Machine = (count: number, second: number) => { readonly msPerToken: number; readonly cores: number };

const idle: Machine = (count) => ({ msPerToken: 4 / count, cores: count });
/** Other programs use all but `free` cores: threads that share a core have half of it, and delay all others. */
const crowded =
  (free: number): Machine =>
  (count) =>
    count > free ? { msPerToken: 12 / free, cores: free + (count - free) / 2 } : idle(count, 0);

interface Prompts {
  readonly from?: number;
  /** Tokens of each batch, in turn. */
  readonly batches?: readonly number[];
  /** Seconds between two prompts of six batches. */
  readonly pause?: number;
  /** Free cores during a batch of `count` threads; undefined: unknown. */
  readonly free?: (count: number) => number;
}

/** Simulates prefill. Returns the milliseconds of each batch, and the thread count of each. */
function simulate(
  tuner: PrefillTuner,
  machine: Machine,
  seconds: number,
  { from = 0, batches = [256], pause = 0, free }: Prompts = {},
): { ms: number; counts: readonly number[] } {
  const counts: number[] = [];
  let total = 0;
  for (let now = from * 1000; now < (from + seconds) * 1000;) {
    const prefill = batches[counts.length % batches.length] ?? 0;
    const { msPerToken, cores } = machine(tuner.count, now / 1000);
    const ms = msPerToken * prefill;
    now += ms;
    total += ms;
    const { count } = tuner;
    counts.push(count);
    const batch = { load: { prefill, decode: 0 }, ms, cpuMs: ms * cores, endedAt: now };
    tuner.onPrefillBatch(batch, free?.(count));
    if (counts.length % 6 === 0) now += pause * 1000;
  }
  return { ms: total, counts };
}

describe('the number of prefill threads', () => {
  it('is the maximum from the first batch on while no other program uses the cores', () => {
    expect(new Set(simulate(new PrefillTuner(8), idle, 300).counts)).toEqual(new Set([8]));
  });

  it('stays the same while tokens take longer because of the tokens before them', () => {
    const deep: Machine = (count, second) => ({ msPerToken: ((1 + second) * 4) / count, cores: count });
    expect(new Set(simulate(new PrefillTuner(8), deep, 60).counts)).toEqual(new Set([8]));
  });

  it.each([
    { free: 1, counts: [8, 4, 2, 1, 1] },
    { free: 3, counts: [8, 5, 4, 3, 3] },
    { free: 7, counts: [8, 7, 7, 7, 7] },
  ])('becomes $free within a few batches when so many cores are free', ({ free, counts }) => {
    const tuner = new PrefillTuner(8);
    simulate(tuner, idle, 10);
    const busy = simulate(tuner, crowded(free), 60, { from: 10 });
    expect(busy.counts.slice(0, 5)).toEqual(counts);
    expect(tuner.count).toBe(free);
  });

  it('is the maximum again soon after the other programs have ended', () => {
    const tuner = new PrefillTuner(8);
    simulate(tuner, crowded(2), 20);
    expect(tuner.count).toBe(2);
    simulate(tuner, idle, 30, { from: 20 });
    expect(tuner.count).toBe(8);
  });

  it('adapts to short prompts with pauses between them', () => {
    const tuner = new PrefillTuner(2);
    simulate(tuner, crowded(1), 60, { batches: [64], pause: 5 });
    expect(tuner.count).toBe(1);
    simulate(tuner, idle, 300, { from: 60, batches: [64], pause: 5 });
    expect(tuner.count).toBe(2);
  });

  it('costs less than 5 % by trials while the cores stay busy', () => {
    const tuner = new PrefillTuner(4);
    simulate(tuner, crowded(1), 30);
    const { ms, counts } = simulate(tuner, crowded(1), 600, { from: 30 });
    expect(ms).toBeLessThan(1.05 * counts.length * 256 * idle(1, 0).msPerToken);
  });

  it('does not rise above the free cores where they are known', () => {
    const tuner = new PrefillTuner(8);
    const free = (count: number) => (count > 2 ? crowded(2)(count, 0).cores : 2);
    const { counts } = simulate(tuner, crowded(2), 600, { free });
    expect(new Set(counts.slice(5))).toEqual(new Set([2]));
  });

  it('rises within a prompt where the free cores are known', () => {
    const tuner = new PrefillTuner(8);
    simulate(tuner, crowded(2), 20, { free: () => 2 });
    const { counts } = simulate(tuner, idle, 5, { from: 20, free: () => 9.8 });
    expect(counts.slice(0, 3)).toEqual([2, 8, 8]);
  });

  it.each([
    { free: 0, count: 1 },
    { free: 1.5, count: 1 },
    { free: 1.7, count: 2 },
    { free: 3, count: 3 },
    { free: 12, count: 8 },
  ])('is $count after a pause in which $free cores were free', ({ free, count }) => {
    for (const before of [0, 16]) {
      const tuner = new PrefillTuner(8);
      tuner.onPause(before);
      tuner.onPause(free);
      expect(tuner.count).toBe(count);
    }
  });

  it('stays the same when fewer are slower, though another program shares a core', () => {
    const shared: Machine = (count) => (count === 2 ? { msPerToken: 2.5, cores: 1.5 } : idle(1, 0));
    const tuner = new PrefillTuner(2);
    const { ms, counts } = simulate(tuner, shared, 600);
    expect(tuner.count).toBe(2);
    expect(ms).toBeLessThan(1.05 * counts.length * 256 * 2.5);
  });

  it('does not rise while even the threads of the present number have no core each', () => {
    const tuner = new PrefillTuner(2);
    const overloaded: Machine = (count) => ({ msPerToken: 40 * count, cores: 0.3 });
    const { counts } = simulate(tuner, overloaded, 300);
    expect(counts.filter((count) => count === 2)).toHaveLength(1);
  });

  it('is compared only among batches of about the same size', () => {
    const tuner = new PrefillTuner(2);
    for (let now = 0; now < 2000;) {
      for (const { prefill, msPerToken } of [
        { prefill: 256, msPerToken: 2 },
        { prefill: 33, msPerToken: 4 },
      ]) {
        // One thread is as fast as two: compared with batches of the other size, it would seem faster or slower.
        const ms = prefill * msPerToken;
        now += ms;
        const cpuMs = ms * (tuner.count === 2 ? 1.5 : 1);
        tuner.onPrefillBatch({ load: { prefill, decode: 0 }, ms, cpuMs, endedAt: now }, undefined);
      }
    }
    expect(tuner.count).toBe(1);
  });

  it('is the old one when batches of the size of a trial do not return', () => {
    const tuner = new PrefillTuner(2);
    const busy = { load: { prefill: 256, decode: 0 }, ms: 500, cpuMs: 600 };
    tuner.onPrefillBatch({ ...busy, endedAt: 500 }, undefined);
    expect(tuner.count).toBe(1);
    const small = { load: { prefill: 60, decode: 2 }, ms: 90, cpuMs: 90 };
    tuner.onPrefillBatch({ ...small, endedAt: 3000 }, undefined);
    expect(tuner.count).toBe(1);
    tuner.onPrefillBatch({ ...small, endedAt: 6000 }, undefined);
    expect(tuner.count).toBe(2);
  });
});
