import { Fault } from '../../protocol/fault.ts';
import { purposeProblem } from '../../inference/models/catalogue/catalogue.ts';
import type { LoadWait } from '../../inference/models/pool/loadWait.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import { createRetriever, type Hit, type SearchRequest, type SearchResult } from '../../graph/retrieval/retriever.ts';
import type { VectorPool } from '../../graph/retrieval/vectors/vectorPool.ts';
import type { StringStorage } from '../../graph/storage/stringStorage.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';
import type { SearchStorageRequest } from '../../protocol/frames.gen.ts';
import { readSearch } from '../../graph/retrieval/readSearch.ts';
import type { Reply, Session } from './session.ts';

const names = { match: 'searchStorage.match', topK: 'searchStorage.topK', filter: 'searchStorage.filter' };

/** Max bytes of an answer, whose parts a client has to join. */
const maxHitBytes = 8 * 1024 * 1024;

/** Replies with the hits of a search. @throws Fault of the storage, INVALID_PARAM_VALUE, LIMIT_EXCEEDED */
export async function searchStorage(
  session: Session,
  { name, query, match, topK, filterJson }: SearchStorageRequest,
  reply: Reply,
): Promise<void> {
  const storage = await session.storages.find(name);
  const request = readSearch({ query, match, topK, filterJson }, storage, names);
  const { pool, signal, context } = session;
  const search = { storage, name, pool, vectors: context.vectors, wait: { signal } };
  await session.searches[request.match === 'words' ? 'words' : 'vectors'].run(session, async () => {
    const { hits, found } = await searchEntries({ ...request, signal }, search);
    const parts = splitToFrames(toJson(hits));
    parts.forEach((hitsJson, index) => reply('searchStorage', { part: index + 1, of: parts.length, hitsJson, found }));
  });
}

function toJson(hits: readonly Hit[]): string {
  const items: string[] = [];
  let bytes = 0;
  for (const hit of hits) {
    const item = JSON.stringify(hit);
    bytes += Buffer.byteLength(item);
    if (bytes > maxHitBytes)
      throw new Fault(
        'LIMIT_EXCEEDED',
        `what searchStorage found has more than ${maxHitBytes} bytes, and no more are allowed; ask for fewer with topK`,
      );
    items.push(item);
  }
  return `[${items.join(',')}]`;
}

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
