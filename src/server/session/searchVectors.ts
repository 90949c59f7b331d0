import { Fault } from '../../protocol/fault.ts';
import { purposeProblem } from '../../inference/models/catalogue/modelPurpose.ts';
import type { LoadWait } from '../../inference/models/pool/loadWait.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import { createRetriever, type SearchRequest, type SearchResult } from '../../graph/retrieval/retriever.ts';
import type { VectorPool } from '../../graph/retrieval/vectors/vectorPool.ts';
import type { StringStorage } from '../../graph/storage/stringStorage.ts';

/** What a search outside a graph is done with. */
export interface StorageSearch {
  readonly storage: StringStorage;
  /** What messages call the storage. */
  readonly name: string;
  readonly pool: ModelPool;
  readonly vectors: VectorPool;
  /** The model of the vectors; default: the one that the storage names. */
  readonly embeddingModel?: string | undefined;
  readonly wait: LoadWait;
}

/**
 * Searches a storage outside a graph; for vectors its embedding model is leased, and what is missing of them is computed.
 * @throws Fault INVALID_PARAM_VALUE for vectors without an embedding model, and for a model that is none; as a lease of it.
 */
export async function searchEntries(request: SearchRequest, search: StorageSearch): Promise<SearchResult> {
  const { storage, name, pool, vectors, wait, embeddingModel = storage.knowledge?.embeddingModel } = search;
  if (request.match === 'words' || embeddingModel === undefined) return createRetriever(storage).search(request);
  const problem = purposeProblem(pool.entry(embeddingModel), 'embedding', pool.catalogue);
  if (problem !== undefined) throw new Fault('INVALID_PARAM_VALUE', `match "${request.match}": ${problem}`);
  await using lease = await pool.lease(embeddingModel, wait);
  const { model, prefixes } = lease;
  using opened = await vectors.open({ storage, name, model, modelName: embeddingModel, prefixes });
  return await createRetriever(storage, opened).search(request);
}
