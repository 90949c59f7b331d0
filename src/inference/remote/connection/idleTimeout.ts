/** How long a response may bring nothing that counts. */
export class IdleTimeout {
  /** What is waited for. */
  readonly what: string;
  #limitMs: number;
  #since = performance.now();

  constructor(what: string, limitMs: number) {
    this.what = what;
    this.#limitMs = limitMs;
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  /** Milliseconds that are left; 0 = none. */
  get leftMs(): number {
    return Math.max(0, this.#limitMs - this.#waitedMs);
  }

  /** Whether it has been over for as long again: what comes without counting keeps timers from running. */
  get isLongOver(): boolean {
    return this.#waitedMs > 2 * this.#limitMs;
  }

  /** Begins anew: what counts has come, or is asked for from now on. */
  renew(limitMs: number): void {
    this.#limitMs = limitMs;
    this.#since = performance.now();
  }

  get #waitedMs(): number {
    return performance.now() - this.#since;
  }
}
