import { describe, expect, it } from 'vitest';
import { TokenRate } from '../../../../src/inference/contract/pace.ts';

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
