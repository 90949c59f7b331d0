import { Listeners } from '../../contract/pace.ts';

/** While an urgent inference runs, background steps take at most one part in so many of the time. */
const shareDivisor = 20;
/** Shortest time between two background steps then, in milliseconds. */
const minIntervalMs = 200;

/**
 * Lets background inferences of a context compute while no urgent one runs. While one does, they get a step now and then, so
 * that they are not starved for ever.
 */
export class BackgroundGate {
  readonly #listeners = new Listeners();
  /** Calls a listener when the last urgent inference has ended. */
  readonly onOpen = this.#listeners.add;
  #urgent = 0;
  #nextAt = 0;

  /** Whether an urgent inference runs. */
  get isClosed(): boolean {
    return this.#urgent > 0;
  }

  /** An urgent inference begins to compute. */
  close(): void {
    this.#urgent++;
  }

  /** An urgent inference has ended, or waits. */
  open(): void {
    if (--this.#urgent === 0) this.#listeners.call();
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
