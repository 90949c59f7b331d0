import { afterMs, onAbort, onceAny, type Subscribe } from './events.ts';

/** The event that work has ended, with or without an error. */
const onSettled =
  (work: Promise<unknown>): Subscribe =>
  (settled) => {
    work.then(settled, settled);
    return () => undefined;
  };

/** Waits until the promise settles or a signal is aborted. Resolves on abort. @throws what the promise rejects with. */
export const untilAborted = (wait: Promise<void>, ...signals: readonly AbortSignal[]): Promise<void> =>
  Promise.race([wait, onceAny(...signals.map(onAbort), onSettled(wait))]);

/** Keeps work in a set while it runs. */
export function track<T>(running: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  running.add(work);
  return work.finally(() => running.delete(work));
}

/** Races a promise against a signal. @param reason what to reject with on abort; default: the signal's. @throws it. */
export function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  reason: () => unknown = () => signal?.reason,
): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const unsubscribe = onAbort(signal)(() => reject(reason()));
    promise.then(resolve, reject).finally(unsubscribe);
  });
}

/** Waits until work has ended, with or without an error, for a limited time. */
export const settledWithin = (ms: number, work: Promise<unknown>): Promise<void> =>
  onceAny(afterMs(ms), onSettled(work));

/** A signal of its own for each wait: what listens to it is not kept longer than the wait. */
export const neverAborted = (): AbortSignal => new AbortController().signal;

export const whenAborted = (signal: AbortSignal): Promise<void> => onceAny(onAbort(signal));

/**
 * A signal that is aborted when one of several is, until it is disposed. Not AbortSignal.any: a long-lived source signal
 * (such as an engine's own) keeps every signal derived from it that has a listener, as long as it lives. That would be one
 * for each model load, and so would a plain listener on the source that is not removed: after ten loads Node warned of it.
 */
export class EitherSignal implements Disposable {
  readonly signal: AbortSignal;
  readonly #unsubscribes: readonly (() => void)[];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    const controller = new AbortController();
    this.signal = controller.signal;
    const given = signals.filter((signal) => signal !== undefined);
    this.#unsubscribes = given.map((signal) => onAbort(signal)(() => controller.abort()));
  }

  [Symbol.dispose](): void {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
  }
}
