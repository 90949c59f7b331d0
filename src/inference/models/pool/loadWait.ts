import { raceAbort } from '../../../base/abort.ts';
import type { Model } from '../../contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';

/** Receives the progress of a load: the fraction done, 0 to 1. */
export type OnProgress = (fraction: number) => void;

/** Downloads a model. */
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
