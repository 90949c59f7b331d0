import { setTimeout as sleep } from 'node:timers/promises';

/** Waits so many milliseconds, or until the signal is aborted. */
export async function waitMs(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds === 0) return;
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
