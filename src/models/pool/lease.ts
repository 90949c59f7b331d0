import type { Model, SamplingParams } from '../../engine/engine.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import { defaultSampling } from '../catalogue/sampling.ts';

/** Counted reference to a loaded model; disposing of it releases the model, once. */
export interface ModelLease extends AsyncDisposable {
  readonly name: string;
  readonly model: Model;
  readonly defaultSampling: SamplingParams;
  /** Tool-call format of the model in the catalogue; "" = none. */
  readonly toolCallFormat: string;
}

/** Creates the lease of a model. `release` is called once, when it is disposed of. */
export function createLease(entry: CatalogueEntry, model: Model, release: () => void): ModelLease {
  let isReleased = false;
  return {
    name: entry.name,
    model,
    defaultSampling: { ...defaultSampling, ...entry.default_sampling },
    toolCallFormat: entry.tool_call_format,
    [Symbol.asyncDispose]: async () => {
      if (isReleased) return;
      isReleased = true;
      release();
    },
  };
}
