// What trials share: the model file, a reader of its tokens, and servers that run it.
import { readCatalogue } from '../../dist/models/catalogue/catalogue.js';
import { readerOf } from './tokenReader.mjs';
import { flagsOfServe, serving } from './serverProcess.mjs';

// Small enough that the states of a crowd do not all fit.
const cacheMegabytes = 64;

/** Opens a model of a catalogue for trials. */
export async function houseOf({ model, catalogue }) {
  const { models } = await readCatalogue(catalogue);
  const entry = models.get(model);
  if (!entry?.file) throw new Error(`${catalogue} has no model "${model}" that is on disk`);
  const contextSize = entry.variants[0]?.context_size || undefined;
  const reader = await readerOf(entry.file, { contextSize });
  const known = await flagsOfServe();
  return {
    model,
    reader,
    cacheMegabytes,
    /** Starts a server; `cache` false keeps one that could save states from it. */
    serve({ slots: slots, cache = true, overhear = false, exact = false, ...flags }) {
      const saves = cache && known.has('--cache') && known.has('--cache-limit');
      const standing = { catalogue, slots: slots, 'model-idle': 3600, gpu: 'off' };
      return serving({ flags: { ...standing, ...flags }, overhear, exact, cacheMegabytes: saves ? cacheMegabytes : 0 });
    },
    close: () => reader.close(),
  };
}
