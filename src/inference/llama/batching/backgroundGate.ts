import { Listeners } from '../../../base/events.ts';

/** While the gate is closed, background steps take at most one part in so many of the time. */
const shareDivisor = 20;
/** Shortest time between two background steps then, in milliseconds. */
const minIntervalMs = 200;
/** What is left of a long step's duration with each step after it: a chunk of a prompt follows many single tokens. */
const fading = 0.98;
/** After a turn a client may send the next message at once, which would have to wait for a background step. */
const followUpMs = 100;

/** Background inferences compute while no urgent one runs and no prompt of another is evaluated; now and then meanwhile. */
export class BackgroundGate {
  readonly #listeners = new Listeners();
  /** Calls a listener when the gate opens. */
  readonly onOpen = this.#listeners.add;
  #closing = 0;
  #nextAt = 0;
  /** How long a step may take. */
  #stepMs = 50;
  #followUpUntil = 0;

  /** Whether an inference runs that goes first. */
  get isClosed(): boolean {
    return this.#closing > 0;
  }

  /** An inference that goes first begins to compute. If it is the only one, its first time is all its own. */
  close(now = performance.now()): void {
    const ownMs = Math.max(minIntervalMs, this.#stepMs * shareDivisor);
    if (this.#closing++ === 0) this.#nextAt = Math.max(this.#nextAt, now + ownMs);
  }

  /** It has ended, or waits, or is in the background's way no more. */
  open(): void {
    if (--this.#closing === 0) this.#listeners.call();
  }

  /** An inference has ended that is not in the background. */
  ended(now = performance.now()): void {
    this.#followUpUntil = now + followUpMs;
  }

  /** When one in the background that begins now may take its first step. */
  get startAt(): number {
    return this.#followUpUntil;
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
    this.#stepMs = Math.max(ms, this.#stepMs * fading);
    this.#nextAt = Math.max(this.#nextAt, now + ms * shareDivisor);
  }
}
