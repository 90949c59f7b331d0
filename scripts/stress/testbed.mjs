// Testbed of the stress tests: the model file, its token reader, and servers that run it.
import { readCatalogue } from '../../dist/inference/models/catalogue/catalogue.js';
import { openTokenReader } from './tokenReader.mjs';
import { readServeFlags, startServer } from './serverProcess.mjs';

// Small enough that the KV states of 200 agents do not all fit.
const cacheMegabytes = 64;

/** Opens a model of a catalogue. */
export async function openTestbed({ model, catalogue }) {
  const { models } = await readCatalogue(catalogue);
  const entry = models.get(model);
  if (!entry?.file) throw new Error(`${catalogue} has no model "${model}" that is on disk`);
  const contextSize = entry.variants[0]?.context_size || undefined;
  const reader = await openTokenReader(entry.file, { contextSize });
  const known = await readServeFlags();
  return {
    model,
    reader,
    cacheMegabytes,
    /** Starts a server; with `cache: false` it never swaps KV states out to disk. A `cacheFolder` of the caller stays. */
    serve({ slots, cache = true, cacheFolder, cacheLimit, traceTokens = false, noFlashAttention = false, ...flags }) {
      const canSwap = cache && known.has('--cache') && known.has('--cache-limit');
      const fixedFlags = { catalogue, slots, 'model-idle': 3600, gpu: 'off' };
      return startServer({
        flags: { ...fixedFlags, ...flags },
        traceTokens,
        noFlashAttention,
        cacheFolder,
        cacheMegabytes: canSwap ? (cacheLimit ?? cacheMegabytes) : 0,
      });
    },
    close: () => reader.close(),
  };
}
