import type { Model } from '../../contract/engine.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import { defaultSampling, type SamplingParams } from '../../contract/samplingParams.ts';

/** Counted reference to a loaded model; disposing of it releases the model, once. */
export type ModelLease = Readonly<ReturnType<typeof createLease>>;

/** Creates the lease of a model. `release` is called once, when it is disposed of. */
export function createLease(entry: CatalogueEntry, model: Model, release: () => void) {
  let isReleased = false;
  return {
    name: entry.name,
    model,
    defaultSampling: { ...defaultSampling, ...entry.default_sampling } satisfies SamplingParams,
    /** Tool-call format of the model in the catalogue; "" = none. */
    toolCallFormat: entry.tool_call_format,
    /** What an embedding model has before its texts. */
    prefixes: { query: entry.embedding?.query_prefix ?? '', document: entry.embedding?.document_prefix ?? '' },
    [Symbol.asyncDispose]: async () => {
      if (isReleased) return;
      isReleased = true;
      release();
    },
  };
}
