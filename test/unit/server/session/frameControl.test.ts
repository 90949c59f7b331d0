import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pace } from '../../../../src/inference/contract/pace.ts';
import { frameControl } from '../../../../src/server/session/frameControl.ts';

const targetMs = 16.7;
const [late, inTime] = [25, 16];

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** A session whose game reports one frame time each second; returns the share after each report, 1 = no limit. */
function openSession() {
  const pace = new Pace();
  const control = frameControl(pace);
  const share = (): number => Number((pace.limits.maxShare || 1).toFixed(4));
  const play = (...frames: readonly number[]): readonly number[] =>
    frames.map((ms) => {
      vi.advanceTimersByTime(1000);
      control.report(ms, targetMs);
      return share();
    });
  return { pace, control, share, play };
}

const times = (count: number, ms: number): readonly number[] => Array.from({ length: count }, () => ms);

describe('the share of a session whose game reports frame times', () => {
  it('halves while frames are late, and never becomes nothing', () => {
    const { play } = openSession();
    expect(play(...times(6, late))).toEqual([0.5, 0.25, 0.125, 0.0625, 0.05, 0.05]);
  });

  it('grows slowly while frames are in time, until there is no limit', () => {
    const { play, pace } = openSession();
    play(late);
    expect(play(...times(3, inTime))).toEqual([0.55, 0.6, 0.65]);
    play(...times(10, inTime));
    expect(pace.limits.maxShare).toBe(0);
  });

  it('finds how much a scene leaves: frames that take longer, the more the server takes', () => {
    const { play, share } = openSession();
    const scene = (room: number): readonly number[] =>
      times(60, 0).map(() => play(share() > room ? late : inTime)[0] ?? 0);
    const [heavy, light] = [scene(0.3).slice(10), scene(0.8).slice(20)];
    expect([Math.min(...heavy), Math.max(...heavy)].every((found) => found >= 0.15 && found <= 0.35)).toBe(true);
    expect([Math.min(...light), Math.max(...light)].every((found) => found >= 0.4 && found <= 0.85)).toBe(true);
  });

  it('is not limited by frames that wait for the display', () => {
    const { play } = openSession();
    expect(play(targetMs * 1.04, targetMs * 0.96)).toEqual([1, 1]);
  });

  it('is not limited any more when the game has reported nothing for five seconds', () => {
    const { play, share } = openSession();
    play(late, late);
    vi.advanceTimersByTime(4999);
    expect(share()).toBe(0.25);
    vi.advanceTimersByTime(1);
    expect(share()).toBe(1);
    expect(play(late)).toEqual([0.5]);
  });

  it('changes at most twice a second, and keeps one timer, however many reports come', () => {
    const { control, pace, share } = openSession();
    let changes = 0;
    pace.onChange(() => void changes++);
    for (let report = 0; report < 10_000; report++) control.report(late, targetMs);
    expect([share(), changes, vi.getTimerCount()]).toEqual([0.5, 1, 1]);
    vi.advanceTimersByTime(500);
    control.report(late, targetMs);
    expect([share(), changes, vi.getTimerCount()]).toEqual([0.25, 2, 1]);
    control[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves the limits of setPace as they are', () => {
    const { play, pace } = openSession();
    pace.set({ paused: false, maxTokensPerSecond: 15, maxThreads: 2 });
    play(late);
    expect(pace.limits).toEqual({ paused: false, maxTokensPerSecond: 15, maxThreads: 2, maxShare: 0.5 });
    pace.set({ paused: true, maxTokensPerSecond: 0, maxThreads: 0 });
    expect(pace.limits).toEqual({ paused: true, maxTokensPerSecond: 0, maxThreads: 0, maxShare: 0.5 });
  });

  it.each([
    [-1, 16, 'reportFrame.ms'],
    [Number.NaN, 16, 'reportFrame.ms'],
    [Infinity, 16, 'reportFrame.ms'],
    [16, 0, 'reportFrame.targetMs'],
    [16, -1, 'reportFrame.targetMs'],
    [16, Number.NaN, 'reportFrame.targetMs'],
    [16, Infinity, 'reportFrame.targetMs'],
  ])('refuses a report of %d ms with a target of %d ms', (ms, target, place) => {
    const { control, share } = openSession();
    expect(() => control.report(ms, target)).toThrow(place);
    expect([share(), vi.getTimerCount()]).toEqual([1, 0]);
  });
});
