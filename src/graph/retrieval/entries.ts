import type { KnowledgeEntry } from '../storage/knowledge/knowledge.ts';
import type { StringStorage } from '../storage/stringStorage.ts';

/** What a hit shows of an entry. */
export type SearchEntry = Pick<KnowledgeEntry, 'id' | 'text' | 'metadata'>;

/** The entries of a storage of any kind. */
export interface SearchEntries {
  /** The indexes of the entries that every search brings. */
  readonly always: readonly number[];
  at(index: number): SearchEntry;
  metadataAt(index: number): KnowledgeEntry['metadata'];
  isAlways(index: number): boolean;
}

const noMetadata: KnowledgeEntry['metadata'] = {};
const cache = new WeakMap<StringStorage, SearchEntries>();

/** The entries of a storage. Those of a LIST have their indexes as ids; only a KNOWLEDGE has metadata. */
export function readEntries(storage: StringStorage): SearchEntries {
  const cached = cache.get(storage);
  if (cached) return cached;
  const { list, keys, knowledge } = storage;
  const always = (knowledge?.entries ?? []).flatMap((entry, index) => (entry.always ? [index] : []));
  const alwaysSet = new Set(always);
  const entries: SearchEntries = {
    always,
    at: (index) =>
      knowledge?.entries[index] ?? {
        id: keys[index] ?? String(index),
        text: list[index] ?? '',
        metadata: noMetadata,
      },
    metadataAt: (index) => knowledge?.entries[index]?.metadata ?? noMetadata,
    isAlways: (index) => alwaysSet.has(index),
  };
  cache.set(storage, entries);
  return entries;
}
