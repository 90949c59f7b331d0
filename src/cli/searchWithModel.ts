import { parseGpuLayers } from '../server/config.ts';
import { createLog } from '../base/log.ts';
import { Metrics } from '../server/metrics/metrics.ts';
import { ModelPool } from '../inference/models/pool/pool.ts';
import type { SearchRequest, SearchResult } from '../graph/retrieval/retriever.ts';
import { VectorPool } from '../graph/retrieval/vectors/vectorPool.ts';
import { VectorStore } from '../graph/retrieval/vectors/vectorStore.ts';
import { searchEntries, type StorageSearch } from '../server/session/searchStorage.ts';
import { localCatalogue } from './localCatalogue.ts';
import { serverOptions } from './options.ts';
import { vectorProgress } from './output/vectorProgress.ts';

/**
 * Searches a storage with the embedding model that it names, in this process; the vectors are kept in the cache folder.
 * @param flags of the server: the catalogue, the cache folder, how the model is loaded.
 * @throws Fault as `searchEntries`.
 */
export async function searchWithModel(
  request: SearchRequest,
  search: Pick<StorageSearch, 'storage' | 'name' | 'embeddingModel'>,
  flags: Readonly<Record<string, unknown>>,
): Promise<SearchResult> {
  const options = serverOptions(flags);
  // Imported on demand: loading the engine takes time.
  const { cacheQuota, createLlamaEngine } = await import('../server/llamaEngine.ts');
  const log = createLog({ level: 'error', json: false });
  const quota = cacheQuota(options);
  const engine = await createLlamaEngine(options, log, new Metrics(), quota);
  const catalogue = await localCatalogue(options);
  await using pool = new ModelPool(engine, {
    ...options,
    gpuLayers: parseGpuLayers(options.gpuLayers),
    catalogue,
    idleMs: 0,
  });
  const store = options.cacheLimit > 0 ? new VectorStore(options.cache, quota, log) : undefined;
  await using vectors = new VectorPool({ log, store, idleMs: 0, listener: { onProgress: vectorProgress() } });
  return await searchEntries(request, { ...search, pool, vectors, wait: {} });
}
