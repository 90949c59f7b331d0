import { Listeners } from '../../../base/events.ts';

/** While the gate is closed, background steps take at most one part in so many of the time. */
const shareDivisor = 20;
/** Shortest time between two background steps then, in milliseconds. */
const minIntervalMs = 200;

/** Background inferences compute while no urgent one runs and no prompt of another is evaluated; now and then meanwhile. */
export class BackgroundGate {
  readonly #listeners = new Listeners();
  /** Calls a listener when the gate opens. */
  readonly onOpen = this.#listeners.add;
  #closing = 0;
  #nextAt = 0;

  /** Whether an inference runs that goes first. */
  get isClosed(): boolean {
    return this.#closing > 0;
  }

  /** An inference that goes first begins to compute. If it is the only one, no background step begins with it at once. */
  close(now = performance.now()): void {
    if (this.#closing++ === 0) this.#nextAt = Math.max(this.#nextAt, now + minIntervalMs);
  }

  /** It has ended, or waits, or is in the background's way no more. */
  open(): void {
    if (--this.#closing === 0) this.#listeners.call();
  }

  /** Milliseconds until the next background step may begin; 0 = now. */
  waitMs(now = performance.now()): number {
    return this.isClosed ? Math.max(0, this.#nextAt - now) : 0;
  }

  /** A background step begins, which no other one may accompany while the gate is closed. */
  begin(now = performance.now()): void {
    this.#nextAt = now + minIntervalMs;
  }

  /** A background step has ended. */
  end(ms: number, now = performance.now()): void {
    this.#nextAt = Math.max(this.#nextAt, now + ms * shareDivisor);
  }
}
