import { describe, expect, it } from 'vitest';
import { fullPace, Pace, TokenRate } from '../../../../src/inference/contract/pace.ts';

describe('a token rate', () => {
  it('does not hold back tokens without a limit', () => {
    const rate = new TokenRate(() => 0);
    rate.spend(1000, 0);
    expect(rate.waitMs(0)).toBe(0);
  });

  it('lets tokens through at its intervals', () => {
    const rate = new TokenRate(() => 10);
    expect(rate.waitMs(1000)).toBe(0);
    rate.spend(1, 1000);
    expect(rate.waitMs(1000)).toBe(50);
    rate.spend(1, 1050);
    expect(rate.waitMs(1050)).toBe(100);
  });

  it('counts tokens that came without being asked for', () => {
    const rate = new TokenRate(() => 10);
    rate.spend(10, 1000);
    expect(rate.waitMs(1000)).toBe(950);
  });

  it('keeps its limit on the whole when timers fire late', () => {
    const rate = new TokenRate(() => 100);
    let now = 1000;
    for (let token = 0; token < 1000; token++) {
      now += rate.waitMs(now) + 1.5;
      rate.spend(1, now);
    }
    expect(now - 1000).toBeGreaterThanOrEqual(1000 * 10 - 65);
    expect(now - 1000).toBeLessThan(1000 * 10 + 20);
  });

  it('does not make up for a long time without tokens', () => {
    const rate = new TokenRate(() => 10);
    rate.spend(1, 1000);
    rate.spend(1, 60_000);
    expect(rate.waitMs(60_000)).toBe(50);
  });

  it('forgets tokens that were counted under another limit', () => {
    let limit = 1;
    const rate = new TokenRate(() => limit);
    rate.spend(10, 1000);
    limit = 100;
    rate.reset();
    expect(rate.waitMs(1000)).toBe(0);
  });
});

describe('the steps of a pace', () => {
  it('are not held back without a limit of their share', () => {
    const pace = new Pace();
    pace.endStep(100, 1000);
    expect(pace.stepWaitMs(1000)).toBe(0);
  });

  it('take their share of the time: a pause follows each', () => {
    const pace = new Pace({ ...fullPace, maxShare: 0.25 });
    expect(pace.stepWaitMs(1000)).toBe(0);
    pace.endStep(20, 1000);
    expect([1000, 1040, 1060].map((now) => pace.stepWaitMs(now))).toEqual([60, 20, 0]);
  });

  it('of one batch wait for one time', () => {
    const pace = new Pace({ ...fullPace, maxShare: 0.5 });
    for (const ms of [20, 20, 0]) pace.endStep(ms, 1000);
    expect(pace.stepWaitMs(1000)).toBe(20);
  });

  it('are held back no more when the limit ends', () => {
    const pace = new Pace({ ...fullPace, maxShare: 0.1 });
    pace.endStep(100, 1000);
    pace.set({ maxShare: 0 });
    expect(pace.stepWaitMs(1000)).toBe(0);
  });
});
