import { afterEach, describe, expect, it, vi } from 'vitest';
import { createAdmission, createYielder, runChunk } from '../../../src/base/eventLoop.ts';

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

describe('an admission', () => {
  afterEach(() => vi.restoreAllMocks());

  /** An event loop that the test turns, and a clock that it advances. */
  function fakeLoop() {
    let time = 0;
    let callbacks: (() => void)[] = [];
    vi.spyOn(performance, 'now').mockImplementation(() => time);
    vi.spyOn(globalThis, 'setImmediate').mockImplementation(((callback: () => void) =>
      callbacks.push(callback)) as never);
    const turn = async (): Promise<void> => {
      const due = callbacks;
      callbacks = [];
      for (const callback of due) callback();
      await Promise.resolve();
    };
    return { turn, advance: (ms: number) => (time += ms) };
  }

  it('admits work at once until its time in a round is used, and then one piece per round, in order', async () => {
    const { turn, advance } = fakeLoop();
    const admission = createAdmission(10);
    const started: number[] = [];
    for (let piece = 0; piece < 6; piece++) {
      const admitted = admission();
      const start = (): void => {
        started.push(piece);
        advance(4);
      };
      if (admitted) void admitted.then(start);
      else start();
    }
    expect(started).toEqual([0, 1, 2]);
    for (const expected of [4, 5, 6]) {
      await turn();
      expect(started.length).toBe(expected);
    }
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('admits new work only after the work that waits', async () => {
    const { turn, advance } = fakeLoop();
    const admission = createAdmission(10);
    expect(admission()).toBeUndefined();
    advance(10);
    const waiting = admission();
    await turn();
    await waiting;
    expect(admission()).toBeUndefined();
    advance(10);
    const [first, second] = [admission(), admission()];
    await turn();
    expect(await Promise.race([first, second?.then(() => 'second')])).toBeUndefined();
    expect(admission()).toBeInstanceOf(Promise);
  });

  it('admits work at once in a later round', async () => {
    const { turn, advance } = fakeLoop();
    const admission = createAdmission(10);
    expect(admission()).toBeUndefined();
    advance(1000);
    await turn();
    expect(admission()).toBeUndefined();
  });
});

describe('chunks of work that begin in the same round of the event loop', () => {
  afterEach(() => vi.restoreAllMocks());

  it('run one per round, once the time of the round is used', async () => {
    let now = 1000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    let round = 0;
    const countRounds = (): void => void (round++ < 100 && setImmediate(countRounds));
    setImmediate(countRounds);
    const chunks = Array.from({ length: 10 }, () =>
      runChunk(() => {
        now += 20;
        return round;
      }),
    );
    const rounds = await Promise.all(chunks);
    expect(new Set(rounds).size).toBe(10);
  });
});
