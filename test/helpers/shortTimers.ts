import { onTestFinished, vi } from 'vitest';

/** Lets timers of this delay, which a test would wait for, fire at once until the test has finished. */
export function shortenTimers(delayMs: number): void {
  const { setTimeout } = globalThis;
  const shortened = (work: () => void, ms?: number): NodeJS.Timeout => setTimeout(work, ms === delayMs ? 1 : ms);
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(shortened as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
}
