import { Fault } from '../../protocol/fault.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';
import type { SearchStorageRequest } from '../../protocol/frames.gen.ts';
import { readSearch } from '../../graph/retrieval/readSearch.ts';
import type { Hit } from '../../graph/retrieval/retriever.ts';
import type { Reply } from './handler.ts';
import { searchEntries } from './searchVectors.ts';
import type { Session } from './session.ts';

const names = { match: 'searchStorage.match', topK: 'searchStorage.topK', filter: 'searchStorage.filter' };

/** Max bytes of an answer, whose parts a client has to join. */
const maxHitBytes = 8 * 1024 * 1024;

/**
 * Searches a storage for a client, and replies with the hits.
 * @throws Fault STORAGE_FILE_NOT_FOUND and others of the storage, INVALID_PARAM_VALUE, LIMIT_EXCEEDED.
 */
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
