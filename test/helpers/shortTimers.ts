import { onTestFinished, vi } from 'vitest';

/** Lets timers and intervals of this delay, which a test would wait for, fire soon until the test has finished. */
export function shortenTimers(delayMs: number): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const original = globalThis[name];
    const shortened = (work: () => void, ms?: number): NodeJS.Timeout => original(work, ms === delayMs ? 10 : ms);
    const spy = vi.spyOn(globalThis, name).mockImplementation(shortened as never);
    onTestFinished(() => spy.mockRestore());
  }
}
