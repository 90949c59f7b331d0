import { createYielder } from '../../eventLoop.ts';
import type { StringStorage } from '../../storage/stringStorage.ts';
import { readEntries } from '../entries.ts';
import type { RankedEntry, RankingRequest } from '../vectorSearch.ts';
import { splitWords } from './splitWords.ts';

/** The words of a storage, and which entries have them. */
export interface WordIndex {
  /** The entries whose words match best (BM25), best first. */
  search(request: RankingRequest): Promise<readonly RankedEntry[]>;
  /** The entries that have a key among the words of a query. */
  findByKeys(query: string): readonly number[];
}

const indexes = new WeakMap<StringStorage, Promise<WordIndex>>();

/** The index of a storage, built on the first call in chunks that yield to the event loop, and freed with the storage. */
export function wordIndexOf(storage: StringStorage): Promise<WordIndex> {
  const existing = indexes.get(storage);
  if (existing) return existing;
  const building = buildIndex(storage);
  indexes.set(storage, building);
  return building;
}

async function buildIndex(storage: StringStorage): Promise<WordIndex> {
  const yieldToOthers = createYielder();
  const entries = readEntries(storage);
  const postings = new Map<string, Map<number, number>>();
  const keys = new Map<string, number[]>();
  for (let index = 0; index < storage.list.length; index++) {
    for (const word of splitWords(entries.at(index).text)) {
      const counts = postings.get(word) ?? new Map<number, number>();
      postings.set(word, counts.set(index, (counts.get(index) ?? 0) + 1));
    }
    for (const key of storage.knowledge?.entries[index]?.keys ?? []) {
      const phrase = splitWords(key).join(' ');
      keys.set(phrase, [...(keys.get(phrase) ?? []), index]);
    }
    await yieldToOthers();
  }
  const total = storage.list.length;
  return {
    search: ({ query, topK, isEligible }) => {
      const scores = new Map<number, number>();
      for (const word of new Set(splitWords(query))) {
        const counts = postings.get(word);
        if (!counts || counts.size > total / 2) continue;
        const weight = Math.log(1 + (total - counts.size + 0.5) / (counts.size + 0.5));
        for (const [index, count] of counts)
          scores.set(index, (scores.get(index) ?? 0) + (weight * count * 2.2) / (count + 1.2));
      }
      const ranked = [...scores].map(([index, score]): RankedEntry => ({ index, score }));
      ranked.sort((a, b) => b.score - a.score || a.index - b.index);
      return Promise.resolve(ranked.filter(({ index }) => isEligible(index)).slice(0, topK));
    },
    findByKeys: (query) => {
      const words = ` ${splitWords(query).join(' ')} `;
      return [...keys].flatMap(([phrase, found]) => (words.includes(` ${phrase} `) ? found : []));
    },
  };
}
