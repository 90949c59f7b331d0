import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { activityTimer } from '../../../../src/inference/process/engineServer.ts';

describe('an activity timer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('repeats its work while something is active, once more after that, and then has no timer', () => {
    const seen: string[] = [];
    let isActive = false;
    const timer = activityTimer(
      100,
      () => isActive,
      () => seen.push('work'),
      () => seen.push('idle'),
    );
    timer.wake();
    expect(vi.getTimerCount()).toBe(0);
    isActive = true;
    timer.wake();
    timer.wake();
    vi.advanceTimersByTime(200);
    isActive = false;
    vi.advanceTimersByTime(1000);
    expect(seen).toEqual(['work', 'work', 'work', 'idle']);
    expect(vi.getTimerCount()).toBe(0);
    timer.start();
    vi.advanceTimersByTime(1000);
    expect(seen.slice(4)).toEqual(['work', 'idle']);
  });
});
