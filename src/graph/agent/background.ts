import { describeError } from '../../protocol/fault.ts';
import type { Pace } from '../../inference/contract/pace.ts';
import type { BackgroundRun } from '../compile/turn.ts';

export type BackgroundWork = (run: Omit<BackgroundRun, 'emitEvent'>) => Promise<void>;

// Work that waits: a client that sends faster than a model works, or that has paused its session.
const maxWaiting = 64;

/** The work of one agent that goes on after its turns, one after another. @param warn gets what the work throws, and what is left out. */
export function createBackground(pace: Pace | undefined, warn: (warning: string, thrown?: unknown) => void) {
  const schedule: BackgroundRun['schedule'] = { priority: 'BACKGROUND', ...(pace && { pace }) };
  const waiting = new Map<string, BackgroundWork>();
  let abort = new AbortController();
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    const { signal } = abort;
    for (const [name, work] of waiting) {
      if (signal.aborted) return;
      waiting.delete(name);
      try {
        await work({ signal, schedule });
      } catch (error) {
        if (!signal.aborted) warn(`${name} failed: ${describeError(error)}`, error);
      }
    }
  };
  const start = (): void => {
    if (waiting.size === 0 || abort.signal.aborted) return;
    // Work may be added after the last one has ended, and before its promise is known to be settled.
    running ??= run().finally(() => {
      running = undefined;
      start();
    });
  };
  return {
    /** Adds work; waiting work of the same name is replaced. */
    add(name: string, work: BackgroundWork): void {
      if (waiting.size < maxWaiting || waiting.has(name)) waiting.set(name, work);
      else warn(`${name} is left out: the work of ${maxWaiting} turns before it still waits`);
      start();
    },
    /** Ends the work that runs, and forgets what waits; what is added meanwhile begins then. */
    async stop(): Promise<void> {
      waiting.clear();
      abort.abort();
      await running;
      abort = new AbortController();
      start();
    },
  };
}
