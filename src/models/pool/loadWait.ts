import { raceAbort } from '../../abort.ts';
import type { Model } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';

/** Told while a load is waited for: the fraction done, 0 to 1. */
export type OnProgress = (fraction: number) => void;

/** Brings a model to disk. */
export type DownloadModel = (entry: CatalogueEntry) => Promise<void>;

/** How somebody waits for a model that is not in memory. */
export interface LoadWait {
  readonly onProgress?: OnProgress;
  /** Called when the model is not in memory and has to be waited for. */
  readonly onWait?: () => void;
  /** Brings a model to disk that is not there; without it that is an error. */
  readonly download?: DownloadModel;
  /** Ends the wait; a load that nobody waits for any more ends, too. */
  readonly signal?: AbortSignal;
}

/** Waits for a model no longer than a signal lets one. @throws the signal's reason when it comes before the model: MODEL_LOAD_FAILED where that is no Fault. */
export function waitForLoad(loading: Promise<Model>, name: string, signal: AbortSignal): Promise<Model> {
  return raceAbort(loading, signal, () => {
    const reason: unknown = signal.reason;
    return reason instanceof Fault ? reason : new Fault('MODEL_LOAD_FAILED', `nobody waits for "${name}" any more`);
  });
}
