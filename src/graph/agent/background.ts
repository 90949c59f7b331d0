import { describeError } from '../../protocol/fault.ts';
import type { Pace } from '../../inference/contract/pace.ts';
import type { BackgroundRun } from '../compile/turn.ts';

export type BackgroundWork = (run: Omit<BackgroundRun, 'emitEvent'>) => Promise<void>;

// Work that waits: a client that sends faster than a model works, or that has paused its session.
const maxWaiting = 64;

/** The work of one agent that goes on after its turns, one after another. */
export class Background {
  readonly #schedule: BackgroundRun['schedule'];
  readonly #warn: (warning: string, thrown?: unknown) => void;
  readonly #waiting = new Map<string, BackgroundWork>();
  #abort = new AbortController();
  #running: Promise<void> | undefined;

  /** @param warn receives what the work throws, and what is left out. */
  constructor(pace: Pace | undefined, warn: (warning: string, thrown?: unknown) => void) {
    this.#schedule = { priority: 'BACKGROUND', ...(pace && { pace }) };
    this.#warn = warn;
  }

  /** Adds work; waiting work of the same name is replaced. */
  add(name: string, work: BackgroundWork): void {
    if (this.#waiting.size < maxWaiting || this.#waiting.has(name)) this.#waiting.set(name, work);
    else this.#warn(`${name} is left out: the work of ${maxWaiting} turns before it still waits`);
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  /** Ends the work that runs, and forgets what waits. */
  async stop(): Promise<void> {
    this.#waiting.clear();
    this.#abort.abort();
    await this.#running;
    this.#abort = new AbortController();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    for (;;) {
      const [next] = this.#waiting;
      if (!next || signal.aborted) return;
      const [name, work] = next;
      this.#waiting.delete(name);
      try {
        await work({ signal, schedule: this.#schedule });
      } catch (error) {
        if (!signal.aborted) this.#warn(`${name} failed: ${describeError(error)}`, error);
      }
    }
  }
}
