import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../scripts/soak/random.mjs';
import { median, quantile, trendOf, type Sample } from '../../scripts/soak/trend.mjs';

/** Half an hour, a sample every five seconds. */
function run(value: (seconds: number, noise: () => number) => number, seed = 1): readonly Sample[] {
  const chance = chanceFrom(seed);
  const noise = (): number => chance.between(-1, 1) + chance.between(-1, 1) + chance.between(-1, 1);
  return Array.from({ length: 360 }, (_, index) => ({ seconds: index * 5, value: value(index * 5, noise) }));
}

const sawtooth = (seconds: number): number => (seconds % 47) / 4;
const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

describe('the trend of memory', () => {
  it.each<[string, (seconds: number, noise: () => number) => number]>([
    ['that never changes', () => 200],
    ['that wavers', (_, noise) => 200 + noise()],
    ['that grows only while the server warms up', (seconds, noise) => 200 + 50 * Math.min(1, seconds / 500) + noise()],
    ['that a garbage collector draws as a saw', (seconds, noise) => 200 + sawtooth(seconds) + noise()],
    ['that falls', (seconds, noise) => 200 - seconds / 100 + noise()],
    ['that grows by a megabyte an hour under noise of three', (seconds, noise) => 200 + seconds / 3600 + noise()],
  ])('of a server %s is flat', (_, value) => {
    expect(seeds.filter((seed) => trendOf(run(value, seed)).rising)).toEqual([]);
  });

  it('of a server whose noise drifts is flat in nearly all runs', () => {
    const drifting = (seed: number): readonly Sample[] => {
      let level = 0;
      return run((_, noise) => 200 + (level = 0.9 * level + noise() / 2) + noise(), seed);
    };
    expect(seeds.filter((seed) => trendOf(drifting(seed)).rising).length).toBeLessThanOrEqual(2);
  });

  it.each<[string, (seconds: number, noise: () => number) => number]>([
    ['a megabyte a minute', (seconds, noise) => 200 + seconds / 60 + noise()],
    ['that under a saw', (seconds, noise) => 200 + seconds / 60 + sawtooth(seconds) + noise()],
    ['it in steps', (seconds, noise) => 200 + 10 * Math.floor(seconds / 300) + noise()],
  ])('of a server that loses %s rises', (_, value) => {
    expect(seeds.filter((seed) => !trendOf(run(value, seed)).rising)).toEqual([]);
  });

  it('tells the slope with an interval that holds the true one', () => {
    const { perHour } = trendOf(run((seconds, noise) => 200 + seconds / 60 + noise()));
    expect(perHour?.slope).toBeCloseTo(60, -0.5);
    expect(perHour?.low).toBeLessThan(60);
    expect(perHour?.high).toBeGreaterThan(60);
  });

  it('is not told from a handful of samples', () => {
    expect(trendOf(run(() => 200).slice(0, 9))).toMatchObject({ enough: false, rising: false });
    expect(trendOf([])).toMatchObject({ enough: false, rising: false });
  });
});

describe('a quantile', () => {
  it('lies between its neighbours in proportion', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(quantile([10, 20, 30, 40, 50], 0.99)).toBeCloseTo(49.6);
    expect(quantile([7], 0.99)).toBe(7);
  });
});
