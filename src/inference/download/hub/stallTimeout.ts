import { TransientError } from '../retry.ts';

/**
 * Read timeout of one HTTP exchange: aborts it when nothing arrives for `stallMs`, or when the download is aborted.
 * Not `AbortSignal.timeout`: the time starts anew with each read. Dispose of it to abort what is left of the exchange and
 * to remove its listener from the signal of the download.
 */
export class StallTimeout implements Disposable {
  readonly #controller = new AbortController();
  readonly #downloadSignal: AbortSignal;
  readonly #stallMs: number;

  constructor(downloadSignal: AbortSignal, stallMs: number) {
    this.#downloadSignal = downloadSignal;
    this.#stallMs = stallMs;
    downloadSignal.addEventListener('abort', this.#onAbort);
    if (downloadSignal.aborted) this.#onAbort();
  }

  /** Aborts the exchange; for `fetch`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why this side aborted the exchange; undefined = it did not. */
  reason(): unknown {
    return this.signal.aborted ? this.signal.reason : undefined;
  }

  /** Waits for one read, and aborts the exchange with a TransientError when it takes longer than `stallMs`. */
  async guard<T>(read: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.#controller.abort(new TransientError(`nothing came for ${this.#stallMs / 1000} seconds`));
    }, this.#stallMs);
    try {
      return await read;
    } finally {
      clearTimeout(timer);
    }
  }

  [Symbol.dispose](): void {
    this.#downloadSignal.removeEventListener('abort', this.#onAbort);
    this.#controller.abort();
  }

  readonly #onAbort = (): void => this.#controller.abort(this.#downloadSignal.reason);
}
