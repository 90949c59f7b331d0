import { afterEach, describe, expect, it, vi } from 'vitest';
import { createYielder } from '../../src/eventLoop.ts';

describe('a yielder', () => {
  afterEach(() => vi.restoreAllMocks());

  /** A clock that only the test advances, and a counter of event loop turns. */
  const fakeClock = (): { advance: (ms: number) => void; eventLoopTurns: () => number } => {
    let now = 1000;
    let turns = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    setImmediate(function countTurn() {
      turns++;
      if (turns < 100) setImmediate(countTurn);
    });
    return { advance: (ms) => (now += ms), eventLoopTurns: () => turns };
  };

  it('does not yield before its time has passed', async () => {
    const { advance, eventLoopTurns } = fakeClock();
    const yieldIfDue = createYielder(10);
    for (let count = 0; count < 9; count++) {
      advance(1);
      await yieldIfDue();
    }
    expect(eventLoopTurns()).toBe(0);
  });

  it('yields each time its time has passed', async () => {
    const { advance, eventLoopTurns } = fakeClock();
    const yieldIfDue = createYielder(10);
    advance(10);
    await yieldIfDue();
    const before = eventLoopTurns();
    expect(before).toBeGreaterThan(0);
    await yieldIfDue();
    expect(eventLoopTurns()).toBe(before);
    advance(10);
    await yieldIfDue();
    expect(eventLoopTurns()).toBeGreaterThan(before);
  });
});
