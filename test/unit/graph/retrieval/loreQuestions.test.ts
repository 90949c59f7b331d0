import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createRetriever, type Retriever, type SearchResult } from '../../../../src/graph/retrieval/retriever.ts';
import { SessionStorages } from '../../../../src/graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';
import { repositoryPath } from '../../../helpers/server.ts';

interface Question {
  readonly query: string;
  /** The entry that answers it; undefined: none does. */
  readonly id?: string;
}

type Kind = 'plain' | 'misspelled' | 'other_forms' | 'not_in_the_lore';

const questions = JSON.parse(await readFile(repositoryPath('test/fixtures/loreQuestions.json'), 'utf8')) as Readonly<
  Record<Kind, readonly Question[]>
>;

describe('words match the lore of sixty entries', () => {
  let lore: Retriever;
  const search = (query: string): Promise<SearchResult> =>
    lore.search({ query, match: 'words', topK: 3, minSimilarity: 0, filter: undefined, variables: {} });

  beforeAll(async () => {
    const storages = new SessionStorages(new StorageRoot(repositoryPath('graphs')), Infinity);
    lore = createRetriever(await storages.find('lore/pellmoor.kb.json'));
  });

  it('so that the right entry is among three for at least 45 of 50 questions', async () => {
    const asked = [...questions.plain, ...questions.misspelled, ...questions.other_forms];
    const missed: string[] = [];
    for (const { query, id } of asked) {
      const { hits } = await search(query);
      if (!hits.some((hit) => hit.id === id)) missed.push(`${query} (${id}): ${hits.map((hit) => hit.id).join(', ')}`);
    }
    expect(asked).toHaveLength(50);
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(5);
  });

  it('so that at least 8 of 10 questions about nothing in it find nothing', async () => {
    const found: string[] = [];
    for (const { query } of questions.not_in_the_lore) {
      const result = await search(query);
      if (result.found) found.push(`${query}: ${result.hits.map(({ id }) => id).join(', ')}`);
    }
    expect(questions.not_in_the_lore).toHaveLength(10);
    expect(found.length, found.join('\n')).toBeLessThanOrEqual(2);
  });
});
