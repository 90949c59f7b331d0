import { describe, expect, it } from 'vitest';
import { memoized, memoizedByKey } from '../../../src/base/memoized.ts';

describe('memoized', () => {
  it('computes once for each object, also where the result is undefined', () => {
    let computed = 0;
    const run = memoized<object, undefined>((): undefined => void computed++);
    const [one, other] = [{}, {}];
    for (const key of [one, one, other, one]) run(key);
    expect(computed).toBe(2);
  });
});

describe('memoizedByKey', () => {
  it('gives the same result for equal keys, and forgets all when there are too many', () => {
    const run = memoizedByKey(
      ({ min }: { readonly min: number }) => min,
      ({ min }) => ({ min }),
    );
    const first = run({ min: 1 });
    expect(run({ min: 1 })).toBe(first);
    for (let min = 2; min <= 1001; min++) run({ min });
    expect(run({ min: 1 })).not.toBe(first);
  });
});
