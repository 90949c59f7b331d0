import { memoized } from '../../base/memoized.ts';
import {
  defaultRules,
  type KnowledgeEntry,
  type LoreRules,
  type MetadataValue,
} from '../storage/knowledge/knowledge.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import { Fault } from '../../protocol/fault.ts';
import { createYielder } from '../../base/eventLoop.ts';
import { raceAbort } from '../../base/abort.ts';
import type { EntryFilter } from './filter/filter.ts';
import { fuseRanks, type RankedEntry, type VectorSearch } from './ranking.ts';
import { wordIndexOf } from './words/wordIndex.ts';

/** How entries are matched: by words (BM25), by the similarity of vectors, or by both (reciprocal rank fusion). */
export const matches = ['words', 'vectors', 'both'] as const;

/** One of `matches`. */
export type Match = (typeof matches)[number];

/** Max `topK` of a search. */
export const maxTopK = 1000;

/** A search over the entries of a storage. */
export interface SearchRequest {
  readonly query: string;
  /** The messages of the user, the newest first; absent: the query. An entry may say in how many its keys are searched for. */
  readonly messages?: readonly string[];
  /** How many of the messages are searched for: the newest first, the others for what is left of `topK`. Default 1. */
  readonly depth?: number;
  readonly match: Match;
  /** Max hits without those that are `always` there; 1 to `maxTopK`. */
  readonly topK: number;
  /** For vectors: min cosine similarity, -1 to 1; 0 = no minimum. */
  readonly minSimilarity: number;
  /** Which entries are searched; undefined: all. */
  readonly filter: EntryFilter | undefined;
  /** What the `$variable`s of the filter stand for: texts, which are read as the type of the field. */
  readonly variables: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** An entry that a search has found. */
export interface Hit {
  /** The id of a KNOWLEDGE, the key of a MAP or MULTIMAP, the index in a LIST. */
  readonly id: string;
  readonly text: string;
  /**
   * Higher is better, comparable within one result only: BM25 for words, cosine similarity for vectors, the fused ranks for
   * both; 0 for an entry that is there by its `keys` alone, or by `always`.
   */
  readonly score: number;
  readonly metadata: Readonly<Record<string, MetadataValue>>;
}

/** What a search has found. */
export interface SearchResult {
  /**
   * Entries with a key in the newest message, then the others by score, then what earlier messages find, at most `topK` of
   * all; then those with `always`.
   */
  readonly hits: readonly Hit[];
  /** Whether there are hits in addition to those with `always`. */
  readonly found: boolean;
}

/** Searches the entries of one storage. */
export interface Retriever {
  /** Builds what its searches need ahead of time: the index of the words, the vectors. @throws as `search`. */
  prepare(signal?: AbortSignal): Promise<void>;
  /**
   * @throws Fault INVALID_PARAM_VALUE for vectors without an embedding model; the signal's reason when it is aborted; what the
   * vector search throws.
   */
  search(request: SearchRequest): Promise<SearchResult>;
}

/** The most messages that the keys of an entry of a storage are searched for in, by its own rules. */
export const deepestOf = ({ knowledge }: StringStorage): number =>
  (knowledge?.entries ?? []).reduce((deepest, { rules }) => Math.max(deepest, rules?.depth ?? 0), 0);

/** How many ranks of each of the two searches are fused, at least. */
const minFusedRanks = 50;

const entriesPerChunk = 256;

/**
 * Creates the retriever of a storage of any kind. Creating one is cheap: the index of the words is built for the first
 * search, once per storage, and is freed with the storage.
 * @param vectors the vectors of the storage; absent: only words can be matched.
 * @param random gives numbers from 0 to below 1, for entries that come with a probability.
 */
export function createRetriever(
  storage: StringStorage,
  vectors?: VectorSearch,
  random: () => number = Math.random,
): Retriever {
  return {
    async prepare(signal) {
      await wordIndexOf(storage);
      if (vectors?.computed) await raceAbort(vectors.computed, signal);
    },
    async search(request) {
      const { query, match, topK, filter, variables, signal, messages = [query], depth = 1 } = request;
      if (match !== 'words' && !vectors) throw missingModel(match);
      const special = specialEntriesOf(storage);
      const passes = filter?.bind(variables);
      const absent = new Set(special.byChance.filter((index) => random() * 100 >= rulesAt(storage, index).probability));
      const isEligible = (index: number): boolean =>
        !absent.has(index) && (!passes || passes(entryAt(storage, index).metadata));
      const { words, keys } = await wordIndexOf(storage);
      const ranks = match === 'both' ? Math.max(topK, minFusedRanks) : topK;
      const findIn = async (count: number): Promise<readonly RankedEntry[]> => {
        const byKeys = await keys.find(messages, count, signal);
        const isRanked = (index: number): boolean =>
          !storage.knowledge?.entries[index]?.always && !byKeys.refused.has(index) && isEligible(index);
        const text = messages.slice(0, count).join('\n');
        const common = { query: text, topK: ranks, isEligible: isRanked, signal };
        const { minSimilarity } = request;
        const hasWords = (index: number): boolean =>
          (!entryAt(storage, index).keysOnly || byKeys.found.has(index)) && isRanked(index);
        const byWords = match === 'vectors' ? [] : await words.run({ ...common, isEligible: hasWords });
        const byVectors = match === 'words' || !vectors ? [] : await vectors.search({ ...common, minSimilarity });
        const ranked = match === 'both' ? fuseRanks([byWords, byVectors]) : match === 'words' ? byWords : byVectors;
        const withKeys = await keepEligible(byKeys.found, isRanked);
        return putKeysFirst(ranked, withKeys, (index) => rulesAt(storage, index).order);
      };
      let hits = (await findIn(1)).slice(0, topK);
      if (depth > 1 && hits.length < topK) {
        const known = new Set(hits.map(({ index }) => index));
        hits = [...hits, ...(await findIn(depth)).filter(({ index }) => !known.has(index))].slice(0, topK);
      }
      const always = special.always.filter(isEligible).map((index) => ({ index, score: 0 }));
      return { hits: [...hits, ...always].map((hit) => toHit(storage, hit)), found: hits.length > 0 };
    },
  };
}

async function keepEligible(
  entries: ReadonlySet<number>,
  isEligible: (index: number) => boolean,
): Promise<readonly number[]> {
  const yieldToOthers = createYielder();
  const kept: number[] = [];
  let visited = 0;
  for (const index of entries) {
    if (isEligible(index)) kept.push(index);
    if (visited++ % entriesPerChunk === 0) await yieldToOthers();
  }
  return kept;
}

function putKeysFirst(
  ranked: readonly RankedEntry[],
  withKeys: readonly number[],
  orderOf: (index: number) => number,
): readonly RankedEntry[] {
  if (withKeys.length === 0) return ranked;
  const scores = new Map(ranked.map(({ index, score }) => [index, score]));
  const keyed = new Set(withKeys);
  const first = [...keyed]
    .map((index) => ({ index, score: scores.get(index) ?? 0 }))
    .sort((a, b) => orderOf(b.index) - orderOf(a.index) || b.score - a.score);
  return [...first, ...ranked.filter(({ index }) => !keyed.has(index))];
}

function toHit(storage: StringStorage, { index, score }: RankedEntry): Hit {
  const { id, text, metadata } = entryAt(storage, index);
  return { id, text, score, metadata };
}

const missingModel = (match: Match): Fault =>
  new Fault(
    'INVALID_PARAM_VALUE',
    `match "${match}" needs an embedding model, and there is none; name one of models.json with "purpose": "embedding" as "embedding_model" of the storage's file or of the node, or match by "words"`,
  );

/** The entry of a storage of any kind. That of a LIST has its index as id; only a KNOWLEDGE has metadata and rules. */
const entryAt = (
  { list, keys, knowledge }: StringStorage,
  index: number,
): Partial<KnowledgeEntry> & Omit<Hit, 'score'> =>
  knowledge?.entries[index] ?? { id: keys[index] ?? String(index), text: list[index] ?? '', metadata: {} };

const rulesAt = (storage: StringStorage, index: number): LoreRules => entryAt(storage, index).rules ?? defaultRules;

/** Indexes of the entries that every search brings, and of those that come with a probability. */
const specialEntriesOf = memoized((storage: StringStorage) => {
  const indexes = [...(storage.knowledge?.entries.keys() ?? [])];
  return {
    always: indexes
      .filter((index) => entryAt(storage, index).always)
      .sort((a, b) => rulesAt(storage, b).order - rulesAt(storage, a).order),
    byChance: indexes.filter((index) => rulesAt(storage, index).probability < 100),
  };
});
