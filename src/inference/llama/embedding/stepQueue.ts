import { raceAbort } from '../../../base/abort.ts';
import type { Priority } from '../../contract/pace.ts';
import { rankOf } from '../../decoding/slotQueue.ts';

interface WaitingStep {
  readonly rank: number;
  readonly start: () => void;
}

/** Runs one step at a time: of those that wait the one with the highest priority, and of equal ones the first. */
export class StepQueue {
  readonly #waiting: WaitingStep[] = [];
  #isBusy = false;

  /** Runs a step. @throws the reason of the signal when that is aborted before the step begins, or what the step throws. */
  async run<T>(step: () => Promise<T>, priority: Priority, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#isBusy) await this.#wait(rankOf(priority), signal);
    else this.#isBusy = true;
    try {
      return await step();
    } finally {
      this.#next();
    }
  }

  async #wait(rank: number, signal: AbortSignal): Promise<void> {
    let start = (): void => undefined;
    const started = new Promise<void>((resolve) => (start = resolve));
    const entry: WaitingStep = { rank, start };
    this.#waiting.push(entry);
    try {
      await raceAbort(started, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(entry);
      if (index >= 0) this.#waiting.splice(index, 1);
      // It was started in the same moment: the next one runs instead.
      else this.#next();
      throw error;
    }
  }

  #next(): void {
    const highest = Math.max(...this.#waiting.map(({ rank }) => rank));
    const index = this.#waiting.findIndex(({ rank }) => rank === highest);
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    this.#isBusy = next !== undefined;
    next?.start();
  }
}
