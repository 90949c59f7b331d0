/** When a connection is told to wait, and when it is given up. */
export interface SendBufferLimits {
  /** Unsent bytes above which generation waits. */
  readonly high: number;
  /** Unsent bytes below which it goes on. */
  readonly low: number;
  /** Milliseconds that a connection may stay above `low` once it was above `high`. */
  readonly slowReaderTimeoutMs: number;
}

/** The limits of spec and server: 1 MiB, 256 KiB, 60 s. */
export const defaultSendBufferLimits: SendBufferLimits = {
  high: 1024 * 1024,
  low: 256 * 1024,
  slowReaderTimeoutMs: 60_000,
};

/** What goes out to one client, and whether the client keeps up with it. */
export class SendBuffer {
  readonly #limits: SendBufferLimits;
  readonly #onSlowReader: () => void;
  readonly #onPause: () => void;
  #unsent = 0;
  #ended = false;
  #waiting: { readonly promise: Promise<void>; readonly go: () => void; readonly stuck: NodeJS.Timeout } | undefined;

  /**
   * @param onStuck is called when a slow reader is to be given up.
   * @param onPause is called whenever the client has to be waited for.
   */
  constructor(limits: SendBufferLimits, onStuck: () => void, onPause: () => void) {
    this.#limits = limits;
    this.#onSlowReader = onStuck;
    this.#onPause = onPause;
  }

  /** Bytes that the client has not taken yet. */
  get unsent(): number {
    return this.#unsent;
  }

  /** Counts bytes until `sent` is called for them. */
  track(bytes: number): () => void {
    this.#unsent += bytes;
    if (this.#unsent > this.#limits.high) this.#wait();
    return () => {
      this.#unsent -= bytes;
      if (this.#unsent < this.#limits.low) this.#resume();
    };
  }

  /** Undefined while the client keeps up, else what to wait for. */
  drained(): Promise<void> | undefined {
    return this.#waiting?.promise;
  }

  /** Lets everybody go on for good: what still goes out is the last, and nobody waits for a client to take it. */
  end(): void {
    this.#ended = true;
    this.#resume();
  }

  #resume(): void {
    clearTimeout(this.#waiting?.stuck);
    this.#waiting?.go();
    this.#waiting = undefined;
  }

  #wait(): void {
    if (this.#waiting || this.#ended) return;
    this.#onPause();
    let go = (): void => undefined;
    const promise = new Promise<void>((resolve) => (go = resolve));
    this.#waiting = { promise, go, stuck: setTimeout(this.#onSlowReader, this.#limits.slowReaderTimeoutMs).unref() };
  }
}
