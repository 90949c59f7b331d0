/** Whose searches they are. */
interface Searcher {
  /** Undefined while the client reads fast enough, else a promise to wait for. */
  readonly backpressure: () => Promise<void> | undefined;
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
}

/** Runs the searches of one session one after another: those of other sessions do not wait for all of them. */
export class SearchQueue {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Runs a search after those before it, and once the client reads fast enough.
   * @throws what the search throws; the reason of the session's end.
   */
  run<T>({ backpressure, signal }: Searcher, search: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      for (let wait = backpressure(); wait && !signal.aborted; wait = backpressure()) await wait;
      signal.throwIfAborted();
      return search();
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
