import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Watchdog, defaultWatchdogLimits } from '../../../../src/inference/process/watchdog.ts';

describe('the watchdog of an engine process', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const { tickMs } = defaultWatchdogLimits;

  function createWatchdog() {
    const hangs: number[] = [];
    const watchdog = new Watchdog(defaultWatchdogLimits, (seconds) => hangs.push(seconds));
    /** Lets seconds pass, with a heartbeat in each that has these batches. */
    const beat = (
      seconds: number,
      batches: { ended?: number; chunkMs?: number | undefined; running?: boolean } = {},
    ) => {
      for (let second = 0; second < seconds; second++) {
        watchdog.heard();
        watchdog.onHeartbeat({ running: true, ended: 0, chunkMs: 100, ...batches });
        vi.advanceTimersByTime(tickMs);
      }
    };
    return { watchdog, hangs, beat };
  }

  it('reports a process of which nothing is heard for 10 s', () => {
    const { watchdog, hangs } = createWatchdog();
    watchdog.start();
    vi.advanceTimersByTime(9 * tickMs);
    expect(hangs).toEqual([]);
    vi.advanceTimersByTime(tickMs);
    expect(hangs).toEqual([10]);
  });

  it('reports nothing while no request is pending', () => {
    const { watchdog, hangs } = createWatchdog();
    watchdog.start();
    watchdog.stop();
    vi.advanceTimersByTime(1000 * tickMs);
    expect(hangs).toEqual([]);
  });

  it('reports a batch that does not end, although heartbeats go on', () => {
    const { watchdog, hangs, beat } = createWatchdog();
    watchdog.start();
    beat(12);
    expect(hangs).toHaveLength(1);
  });

  it('waits 20 times as long as a prefill chunk takes on a slow machine', () => {
    const { watchdog, hangs, beat } = createWatchdog();
    watchdog.start();
    beat(59, { chunkMs: 3000 });
    expect(hangs).toEqual([]);
    beat(3, { chunkMs: 3000 });
    expect(hangs).toHaveLength(1);
  });

  it('waits longer before the speed is known, because the weights may have to be read first', () => {
    const { watchdog, hangs, beat } = createWatchdog();
    watchdog.start();
    beat(60, { chunkMs: undefined });
    expect(hangs).toEqual([]);
    beat(62, { chunkMs: undefined });
    expect(hangs).toHaveLength(1);
  });

  it('reports nothing while batches end, or while none runs', () => {
    const { watchdog, hangs, beat } = createWatchdog();
    watchdog.start();
    for (let ended = 1; ended < 30; ended++) beat(1, { ended });
    // All generations are paused, because their clients read slowly.
    beat(60, { ended: 30, running: false });
    expect(hangs).toEqual([]);
  });

  it('allows a load to block the event loop, as long as the guard of the process gives signs of life', () => {
    const { watchdog, hangs } = createWatchdog();
    watchdog.start();
    watchdog.isLoading = true;
    for (let second = 0; second < 60; second++) {
      watchdog.guardHeard();
      vi.advanceTimersByTime(tickMs);
    }
    expect(hangs).toEqual([]);
    // The process is stopped.
    vi.advanceTimersByTime(10 * tickMs);
    expect(hangs).toHaveLength(1);
  });

  it('does not listen to the guard once the model is loaded', () => {
    const { watchdog, hangs } = createWatchdog();
    watchdog.start();
    for (let second = 0; second < 11; second++) {
      watchdog.guardHeard();
      vi.advanceTimersByTime(tickMs);
    }
    expect(hangs).toHaveLength(1);
  });

  it('gives up a load that does not progress', () => {
    const { watchdog, hangs, beat } = createWatchdog();
    watchdog.start();
    watchdog.isLoading = true;
    beat(119, { running: false });
    expect(hangs).toEqual([]);
    beat(2, { running: false });
    expect(hangs).toHaveLength(1);
  });

  it('gives up a silent load after the limit of loads, where that is shorter', () => {
    const hangs: number[] = [];
    const limits = { ...defaultWatchdogLimits, unmeasuredHangMs: 3 * tickMs };
    const watchdog = new Watchdog(limits, (seconds) => hangs.push(seconds));
    watchdog.start();
    watchdog.isLoading = true;
    vi.advanceTimersByTime(2 * tickMs);
    expect(hangs).toEqual([]);
    vi.advanceTimersByTime(tickMs);
    expect(hangs).toEqual([3]);
  });

  it('counts the time from the last progress', () => {
    const { watchdog, hangs, beat } = createWatchdog();
    watchdog.start();
    beat(8);
    watchdog.progressed();
    beat(8);
    expect(hangs).toEqual([]);
  });
});
