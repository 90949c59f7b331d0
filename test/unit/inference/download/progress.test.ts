import { describe, expect, it } from 'vitest';
import { throttleProgress, progressOf } from '../../../../src/inference/download/progress.ts';

describe('a progress throttle', () => {
  it('reports at most four times in any second, and always the last update', () => {
    let now = 0;
    const updates: number[] = [];
    const listener = throttleProgress(
      () => updates.push(now),
      () => now,
    );
    for (; now < 5000; now += 10) listener.update(progressOf(now, 5000));
    listener.flush();
    expect(updates.at(-1)).toBe(5000);
    expect(updates.filter((at) => updates.filter((other) => other >= at && other < at + 1000).length > 4)).toEqual([]);
  });
});
