import { readKnowledgeFile } from '../../src/graph/storage/knowledge/knowledgeFile.ts';
import { createRetriever, type SearchRequest, type SearchResult } from '../../src/graph/retrieval/retriever.ts';
import type { Knowledge } from '../../src/graph/storage/knowledge/knowledge.ts';
import { createKnowledge, type StringStorage } from '../../src/graph/storage/stringStorage.ts';

/** Reads a document, or the bytes of a file, as `lore.kb.json`. */
export const readLore = (document: unknown): Promise<Knowledge> =>
  readKnowledgeFile(
    'lore.kb.json',
    () => Promise.resolve(document instanceof Uint8Array ? document : Buffer.from(JSON.stringify(document))),
    1000,
  );

/** The storage of a document. */
export const loreOf = async (document: unknown): Promise<StringStorage> => createKnowledge(await readLore(document));

/** Searches by words. */
export const searchLore = (
  storage: StringStorage,
  query: string,
  rest: Partial<SearchRequest> = {},
  random?: () => number,
): Promise<SearchResult> =>
  createRetriever(storage, undefined, random).search({
    query,
    match: 'words',
    topK: 3,
    minSimilarity: 0,
    filter: undefined,
    variables: {},
    ...rest,
  });

/** The ids of what a search finds. */
export const idsOf = async (...search: Parameters<typeof searchLore>): Promise<readonly string[]> =>
  (await searchLore(...search)).hits.map(({ id }) => id);
