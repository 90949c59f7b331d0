/**
 * Waits until the promise settles or one of the signals is aborted. Resolves on abort.
 * @throws what the promise rejects with.
 */
export function untilAborted(wait: Promise<void>, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      for (const signal of signals) signal.removeEventListener('abort', done);
      resolve();
    };
    for (const signal of signals) signal.addEventListener('abort', done);
    if (signals.some(({ aborted }) => aborted)) done();
    wait.catch(reject).finally(done);
  });
}

/** Keeps work in a set while it runs. */
export function track<T>(running: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  running.add(work);
  return work.finally(() => running.delete(work));
}

/**
 * Races a promise against an abort signal.
 * @param reason returns the value to reject with on abort; default: the signal's reason.
 * @throws that value, when the signal is aborted before the promise settles.
 */
export function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  reason: () => unknown = () => signal?.reason,
): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(reason());
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves when the signal is aborted. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * A signal that is aborted when one of several is, until it is disposed. Not AbortSignal.any: a long-lived source signal
 * (such as an engine's own) keeps every signal derived from it that has a listener, as long as it lives. That would be one
 * for each model load, and so would a plain listener on the source that is not removed: after ten loads Node warned of it.
 */
export class EitherSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#signals) signal.addEventListener('abort', this.#abort);
    if (this.#signals.some(({ aborted }) => aborted)) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort();
}
