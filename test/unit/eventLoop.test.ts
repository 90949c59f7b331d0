import { afterEach, describe, expect, it, vi } from 'vitest';
import { createYielder } from '../../src/eventLoop.ts';

describe('long work in pieces', () => {
  afterEach(() => vi.restoreAllMocks());

  /** A clock that stands still unless the test moves it, and whether anybody else had a turn meanwhile. */
  const watched = (): { passes: (ms: number) => void; others: () => number } => {
    let now = 1000;
    let turns = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    setImmediate(function again() {
      turns++;
      if (turns < 100) setImmediate(again);
    });
    return { passes: (ms) => (now += ms), others: () => turns };
  };

  it('lets nobody else go on before its time is over', async () => {
    const { passes, others } = watched();
    const breathe = createYielder(10);
    for (let count = 0; count < 9; count++) {
      passes(1);
      await breathe();
    }
    expect(others()).toBe(0);
  });

  it('lets others go on each time that its time is over', async () => {
    const { passes, others } = watched();
    const breathe = createYielder(10);
    passes(10);
    await breathe();
    const before = others();
    expect(before).toBeGreaterThan(0);
    await breathe();
    expect(others()).toBe(before);
    passes(10);
    await breathe();
    expect(others()).toBeGreaterThan(before);
  });
});
