/** Timers fire late. Tokens catch up with this many milliseconds, so that they are on the whole as fast as they may be. */
const maxLagMs = 50;

/** A limit of tokens per second: when the next token may be computed. */
export class TokenRate {
  readonly #perSecond: () => number;
  #nextAt = 0;

  /** @param perSecond the limit at the moment; 0 = none. */
  constructor(perSecond: () => number) {
    this.#perSecond = perSecond;
  }

  /** Milliseconds until the next token may be computed; 0 = now. */
  waitMs(now = performance.now()): number {
    return this.#perSecond() === 0 ? 0 : Math.max(0, this.#nextAt - now);
  }

  /** Counts tokens. */
  spend(tokens: number, now = performance.now()): void {
    const perSecond = this.#perSecond();
    if (perSecond > 0) this.#nextAt = Math.max(this.#nextAt, now - maxLagMs) + (tokens * 1000) / perSecond;
  }

  /** The limit has changed: tokens that were counted under another one do not matter any more. */
  reset(): void {
    this.#nextAt = 0;
  }
}
