/** Water marks of the send buffer, and the timeout of a slow reader. */
export interface SendBufferLimits {
  /** High-water mark in bytes: generation pauses above it. */
  readonly highWaterMark: number;
  /** Low-water mark in bytes: generation resumes below it. */
  readonly lowWaterMark: number;
  /** Max milliseconds of one pause; then the connection is closed. */
  readonly slowReaderTimeoutMs: number;
}

export const defaultSendBufferLimits: SendBufferLimits = {
  highWaterMark: 1024 * 1024,
  lowWaterMark: 256 * 1024,
  slowReaderTimeoutMs: 60_000,
};

/**
 * Send buffer of one client: counts the unsent bytes and applies backpressure. Above the high-water mark `drained()`
 * gives a promise for turns to wait on; it resolves below the low-water mark. The connection of a client that has not
 * caught up within `slowReaderTimeoutMs` is closed.
 */
export class SendBuffer {
  readonly #limits: SendBufferLimits;
  readonly #onSlowReader: () => void;
  readonly #onPause: () => void;
  #unsent = 0;
  #ended = false;
  #pause:
    { readonly promise: Promise<void>; readonly resume: () => void; readonly timeout: NodeJS.Timeout } | undefined;

  /** @param onSlowReader is called when a pause exceeds `slowReaderTimeoutMs`. @param onPause when one begins. */
  constructor(limits: SendBufferLimits, onSlowReader: () => void, onPause: () => void) {
    this.#limits = limits;
    this.#onSlowReader = onSlowReader;
    this.#onPause = onPause;
  }

  /** Bytes that were written, but not sent yet. */
  get unsent(): number {
    return this.#unsent;
  }

  /** Counts bytes as unsent until the returned function is called. */
  track(bytes: number): () => void {
    this.#unsent += bytes;
    if (this.#unsent > this.#limits.highWaterMark) this.#startPause();
    return () => {
      this.#unsent -= bytes;
      if (this.#unsent < this.#limits.lowWaterMark) this.#resume();
    };
  }

  /** Undefined while the client reads fast enough; else a promise that resolves when it has caught up. */
  drained(): Promise<void> | undefined {
    return this.#pause?.promise;
  }

  /** Ends backpressure for good, when the connection closes: the remaining frames are written without waiting. */
  end(): void {
    this.#ended = true;
    this.#resume();
  }

  #resume(): void {
    clearTimeout(this.#pause?.timeout);
    this.#pause?.resume();
    this.#pause = undefined;
  }

  #startPause(): void {
    if (this.#pause || this.#ended) return;
    this.#onPause();
    let resume = (): void => undefined;
    const promise = new Promise<void>((resolve) => (resume = resolve));
    const timeout = setTimeout(this.#onSlowReader, this.#limits.slowReaderTimeoutMs).unref();
    this.#pause = { promise, resume, timeout };
  }
}
