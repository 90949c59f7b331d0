import { describe, expect, it } from 'vitest';
import { readFilter } from '../../../../src/graph/retrieval/filter/readFilter.ts';
import { createRetriever, type SearchRequest, type SearchResult } from '../../../../src/graph/retrieval/retriever.ts';
import type { VectorSearch } from '../../../../src/graph/retrieval/ranking.ts';
import type { KnowledgeEntry } from '../../../../src/graph/storage/knowledge/knowledge.ts';
import {
  createKnowledge,
  createList,
  createMap,
  type StringStorage,
} from '../../../../src/graph/storage/stringStorage.ts';

const entry = (id: string, text: string, rest: Partial<KnowledgeEntry> = {}): KnowledgeEntry => ({
  id,
  text,
  metadata: {},
  keys: [],
  always: false,
  ...rest,
});

const knowledge = (...entries: readonly KnowledgeEntry[]): StringStorage =>
  createKnowledge({ entries, fields: undefined, embeddingModel: undefined, bytes: 0 });

const town = knowledge(
  entry('town', 'The town is walled and lies on a lake.', { always: true }),
  entry('ferry', 'The ferry leaves at dawn and takes two coins.', { keys: ['boat', 'Old Harbour'] }),
  entry('smith', 'The smith sharpens blades at dawn.', { metadata: { min_level: 3 } }),
  entry('inn', 'The inn has a bed and smoked eel.', { metadata: { min_level: 1 } }),
  entry('abbey', 'The abbey has a library.', { metadata: { min_level: 5 }, keys: ['café'] }),
);

const search = (
  storage: StringStorage,
  query: string,
  rest: Partial<SearchRequest> = {},
  vectors?: VectorSearch,
): Promise<SearchResult> =>
  createRetriever(storage, vectors).search({
    query,
    match: 'words',
    topK: 3,
    minSimilarity: 0,
    filter: undefined,
    variables: {},
    ...rest,
  });

const ids = ({ hits }: SearchResult): readonly string[] => hits.map(({ id }) => id);

describe('a retriever', () => {
  it('finds the entries of a LIST by index, of a MAP and a MULTIMAP by key', async () => {
    const list = createList(['The ferry is red.', 'A bridge of stone.', 'The mill burned down.']);
    expect(await search(list, 'who burned the mill?')).toMatchObject({
      hits: [{ id: '2', text: 'The mill burned down.', metadata: {} }],
      found: true,
    });
    const entries = [
      { key: 'mill', text: 'The mill burned down.' },
      { key: 'ferry', text: 'The ferry is red.' },
      { key: 'goat', text: 'A goat is in the yard.' },
    ];
    expect(ids(await search(createMap('MAP', entries, 'x'), 'the ferry'))).toEqual(['ferry']);
    expect(ids(await search(createMap('MULTIMAP', entries, 'x'), 'goat'))).toEqual(['goat']);
  });

  it('brings entries that are always there in addition, which do not count for found', async () => {
    expect(await search(town, 'ferry at dawn', { topK: 1 })).toMatchObject({
      hits: [{ id: 'ferry' }, { id: 'town', score: 0 }],
      found: true,
    });
    const nothing = await search(town, 'password reset');
    expect([ids(nothing), nothing.found]).toEqual([['town'], false]);
    expect(ids(await search(town, 'walled lake'))).toEqual(['town']);
  });

  it('puts an entry first whose key is in the query, whatever its score', async () => {
    expect(ids(await search(town, 'does the smith own a BOAT?'))).toEqual(['ferry', 'smith', 'town']);
    expect(ids(await search(town, 'where is the old harbour'))).toEqual(['ferry', 'town']);
    expect(ids(await search(town, 'the harbour is old'))).toEqual(['town']);
    expect(ids(await search(town, 'a cafe'))).toEqual(['abbey', 'town']);
  });

  it('searches only what passes the filter, keys and always included', async () => {
    const reading = readFilter({ min_level: { $lte: { $variable: 'level' } } }, undefined);
    if (!reading.ok) throw new Error('the filter is valid');
    const filter = reading.value;
    expect(ids(await search(town, 'smith, inn, boat, library', { filter, variables: { level: '3' } }))).toEqual(
      expect.arrayContaining(['smith', 'inn']),
    );
    const none = await search(town, 'smith, inn, boat, library', { filter, variables: {} });
    expect(none).toEqual({ hits: [], found: false });
  });

  it('needs an embedding model for vectors', async () => {
    for (const match of ['vectors', 'both'] as const)
      await expect(search(town, 'ferry', { match })).rejects.toMatchObject({
        name: 'INVALID_PARAM_VALUE',
        message: expect.stringMatching(/needs an embedding model.*"purpose": "embedding"/) as string,
      });
  });

  it('asks the vectors for entries that are neither filtered out nor always there, and fuses both rankings', async () => {
    const asked: string[] = [];
    const vectors: VectorSearch = {
      search({ query, topK, minSimilarity, isEligible }) {
        asked.push(`${query} ${topK} ${minSimilarity} ${[0, 1, 2, 3, 4].map(isEligible).join(' ')}`);
        return Promise.resolve([
          { index: 4, score: 0.9 },
          { index: 2, score: 0.5 },
        ]);
      },
      nearestGroups: async () => [],
    };
    const options: Partial<SearchRequest> = { match: 'vectors', topK: 2, minSimilarity: 0.4 };
    expect(await search(town, 'blades', options, vectors)).toMatchObject({
      hits: [{ id: 'abbey', score: 0.9 }, { id: 'smith', score: 0.5 }, { id: 'town' }],
    });
    expect(asked).toEqual(['blades 2 0.4 false true true true true']);
    expect(ids(await search(town, 'blades', { match: 'both' }, vectors))).toEqual(['smith', 'abbey', 'town']);
  });

  it('goes by the meaning if a question has one word of an entry by chance, and by the words if it has all of them', async () => {
    const lore = createList(['The smith sharpens blades.', 'The inn rents rooms.', 'The ferry leaves at dawn.']);
    const meaning = (...best: readonly number[]): VectorSearch => ({
      search: async () => best.map((index, rank) => ({ index, score: 0.6 - rank / 10 })),
      nearestGroups: async () => [],
    });
    const both = async (query: string, vectors: VectorSearch): Promise<readonly string[]> =>
      ids(await search(lore, query, { match: 'both' }, vectors));
    expect(await both('Can I sleep somewhere tonight until dawn?', meaning(1, 0, 2))).toEqual(['1', '0', '2']);
    expect(await both('when does the ferry leave', meaning(0, 2, 1))).toEqual(['2', '0', '1']);
  });
});
