import { raceAbort } from '../../../base/abort.ts';
import type { Model } from '../../contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';

/** Receives the progress of a load: the fraction done, 0 to 1. */
export type OnProgress = (fraction: number) => void;

export type DownloadModel = (entry: CatalogueEntry) => Promise<void>;

/** How a caller waits for a model that is not in memory. */
export interface LoadWait {
  readonly onProgress?: OnProgress;
  /** Called if the model is not in memory, before the wait for its download or load. */
  readonly onWait?: () => void;
  /** Downloads a model that is not on disk; absent: that is an error. */
  readonly download?: DownloadModel;
  /** Ends the wait. A load that no caller waits for any more is aborted. */
  readonly signal?: AbortSignal;
}

/**
 * Waits for a load until the signal is aborted.
 * @throws Fault the signal's reason if it is aborted first, or MODEL_LOAD_FAILED if that reason is not a Fault.
 */
export function waitForLoad(loading: Promise<Model>, name: string, signal: AbortSignal): Promise<Model> {
  return raceAbort(loading, signal, () => {
    const reason: unknown = signal.reason;
    return reason instanceof Fault
      ? reason
      : new Fault('MODEL_LOAD_FAILED', `the load of "${name}" was cancelled: no client waits for it any more`);
  });
}

/**
 * Barrier for loads: pending unloads and deletions by model name. A new load of a model waits for them, so that its
 * weights are not in memory twice, and its files are not read while they are being deleted.
 */
export function unloadBarrier() {
  const pending = new Map<string, Promise<unknown>>();
  /** Adds work that loads which begin from now on wait for. @returns the work itself. */
  const add = <Done>(name: string, work: Promise<Done>): Promise<Done> => {
    const all = Promise.allSettled([pending.get(name), work]);
    pending.set(name, all);
    void all.then(() => pending.get(name) === all && pending.delete(name));
    return work;
  };
  return {
    add,
    /** Resolves when all work that is pending now has settled; never rejects. Undefined: nothing is pending. */
    pending: (name: string): Promise<unknown> | undefined => pending.get(name),
    /** Delays loads that begin from now on until the result is disposed of. */
    block(name: string): Disposable {
      let unblock = (): void => {};
      void add(name, new Promise<void>((resolve) => (unblock = resolve)));
      return { [Symbol.dispose]: () => unblock() };
    },
  };
}
