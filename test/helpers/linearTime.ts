import { expect } from 'vitest';

/**
 * Fails if a text of eight times the length takes more than four times as long as eight short ones. In quadratic time it would
 * take eight times as long. It is tried again while it does: another process may have had the core.
 * @param run works on a text of `times` times the length; what it returns is waited for.
 */
export async function expectLinearTime(run: (times: number) => unknown, message?: string): Promise<void> {
  let [longMs, eightShortMs] = [Infinity, Infinity];
  for (let tries = 0; tries < 200 && !(longMs < 4 * eightShortMs); tries++) {
    longMs = Math.min(longMs, await timeOf(run, 8, 1));
    eightShortMs = Math.min(eightShortMs, await timeOf(run, 1, 8));
  }
  expect(longMs, message).toBeLessThan(4 * eightShortMs);
}

async function timeOf(run: (times: number) => unknown, times: number, rounds: number): Promise<number> {
  const start = performance.now();
  for (let round = 0; round < rounds; round++) {
    const result = run(times);
    if (result instanceof Promise) await result;
  }
  return performance.now() - start;
}
