/** The timeout of a turn. It can be paused: time in which the turn waits for its client does not count. */
export class TurnTimeout implements Disposable {
  readonly #onTimeout: () => void;
  #remainingMs: number;
  #startedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Starts at once. */
  constructor(timeoutMs: number, onTimeout: () => void) {
    this.#remainingMs = timeoutMs;
    this.#onTimeout = onTimeout;
    this.resume();
  }

  pause(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#remainingMs -= performance.now() - this.#startedMs;
  }

  resume(): void {
    if (this.#timer !== undefined) return;
    this.#startedMs = performance.now();
    this.#timer = setTimeout(this.#onTimeout, Math.max(0, this.#remainingMs));
  }

  [Symbol.dispose](): void {
    this.pause();
  }
}
