import { memoized } from '../../base/memoized.ts';
import type { KnowledgeEntry, LoreRules, MetadataValue } from '../storage/knowledge/knowledge.ts';
import { defaultRules } from '../storage/knowledge/knowledge.ts';
import { stateOf, type StringStorage } from '../storage/stringStorage.ts';
import { Fault } from '../../protocol/fault.ts';
import { createYielder } from '../../base/eventLoop.ts';
import { raceAbort } from '../../base/abort.ts';
import { type EntryFilter, metadataFields } from './filter/filter.ts';
import { fuseRankings, type RankedEntry, type VectorSearch } from './ranking.ts';
import { wordIndexOf } from './words/wordIndex.ts';

/** How entries are matched: by words (BM25), by the similarity of vectors, or by both (the sum of a share of each). */
export const matches = ['words', 'vectors', 'both'] as const;

export type Match = (typeof matches)[number];

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
   * Higher is better, comparable within one result only: BM25 for words, cosine similarity for vectors, 0 to 2 for
   * both; 0 for an entry that is there by its `keys` alone, or by `always`.
   */
  readonly score: number;
  readonly metadata: Readonly<Record<string, MetadataValue>>;
}

export interface SearchResult {
  /** First those with a key in the newest message, then by score, then of earlier messages: `topK`; then `always`. */
  readonly hits: readonly Hit[];
  /** Whether there are hits in addition to those with `always`. */
  readonly found: boolean;
}

export interface Retriever {
  /** Builds what its searches need ahead of time: the index of the words, the vectors. @throws as `search`. */
  prepare(signal?: AbortSignal): Promise<void>;
  /** @throws Fault INVALID_PARAM_VALUE for vectors without an embedding model; the signal's reason; vector errors. */
  search(request: SearchRequest): Promise<SearchResult>;
  /** The best entries of the two nearest groups, by vectors alone: no keys, chance, `always`. @throws as `search`. */
  nearest(request: NearestRequest): Promise<readonly NearestEntry[]>;
}

export interface NearestEntry {
  readonly group: string;
  readonly text: string;
  readonly score: number;
}

/** A search for the groups of entries that are nearest. */
export interface NearestRequest extends Pick<SearchRequest, 'query' | 'filter' | 'variables' | 'signal'> {
  /** The groups of the entries of a state of the storage, by index; undefined: an entry is not searched. */
  groupsOf(state: StringStorage): readonly (string | undefined)[];
}

/** The most messages that the keys of an entry of a state of a storage are searched for in, by its own rules. */
export const deepestOf = memoized(({ knowledge }: StringStorage): number =>
  (knowledge?.entries ?? []).reduce((deepest, { rules }) => Math.max(deepest, rules?.depth ?? 0), 0),
);

/** How many ranks of each of the two searches are fused, at least. */
const minFusedRanks = 50;
const entriesPerChunk = 256;

/**
 * Creates the retriever of a storage of any kind. Creating one is cheap: the index of the words is built for the first
 * search, once per storage, and is freed with the storage. Each search is one of the state that the storage has when it begins.
 * @param vectors the vectors of the storage; absent: only words can be matched.
 * @param random gives numbers from 0 to below 1, for entries that come with a probability.
 */
export function createRetriever(
  storage: StringStorage,
  vectors?: VectorSearch,
  random: () => number = Math.random,
): Retriever {
  return {
    async nearest(request) {
      if (!vectors) throw missingModel('vectors');
      const { query, signal } = request;
      const state = stateOf(storage);
      const groups = request.groupsOf(state);
      const options = { state, query, isEligible: passes(state, request), groupOf: (at: number) => groups[at], signal };
      const nearest = await vectors.nearestGroups(options);
      return nearest.slice(0, 2).map(({ index, score }) => {
        return { group: groups[index] ?? '', text: state.list[index] ?? '', score };
      });
    },
    async prepare(signal) {
      await wordIndexOf(stateOf(storage));
      if (vectors?.computed) await raceAbort(vectors.computed, signal);
    },
    async search(request) {
      const { query, match, topK, signal, messages = [query], depth = 1 } = request;
      if (match !== 'words' && !vectors) throw missingModel(match);
      const state = stateOf(storage);
      const special = specialEntriesOf(state);
      const isLeft = passes(state, request);
      const absent = new Set(special.byChance.filter((index) => random() * 100 >= rulesAt(state, index).probability));
      const isEligible = (index: number): boolean => !absent.has(index) && isLeft(index);
      const { words, findKeys } = await wordIndexOf(state);
      const ranks = match === 'both' ? Math.max(topK, minFusedRanks) : topK;
      const findIn = async (count: number): Promise<readonly RankedEntry[]> => {
        const byKeys = await findKeys(messages, count, signal);
        const isRanked = (index: number): boolean =>
          !state.knowledge?.entries[index]?.always && !byKeys.refused.has(index) && isEligible(index);
        const text = messages.slice(0, count).join('\n');
        const common = { state, query: text, topK: ranks, isEligible: isRanked, signal };
        const { minSimilarity } = request;
        const hasWords = (index: number): boolean =>
          (!entryAt(state, index).keysOnly || byKeys.found.has(index)) && isRanked(index);
        const byWords = match === 'vectors' ? [] : await words.run({ ...common, isEligible: hasWords });
        const least = match === 'both' ? 0 : minSimilarity;
        const byVectors = match === 'words' ? [] : ((await vectors?.search({ ...common, minSimilarity: least })) ?? []);
        const fused = match === 'both' && fuseRankings(byWords, byVectors, minSimilarity);
        const ranked = fused || (match === 'words' ? byWords : byVectors);
        const withKeys = await keepEligible(byKeys.found, isRanked);
        return putKeysFirst(ranked, withKeys, (index) => rulesAt(state, index).order);
      };
      let hits = (await findIn(1)).slice(0, topK);
      if (depth > 1 && hits.length < topK) {
        const known = new Set(hits.map(({ index }) => index));
        hits = [...hits, ...(await findIn(depth)).filter(({ index }) => !known.has(index))].slice(0, topK);
      }
      const always = special.always.filter(isEligible).map((index) => ({ index, score: 0 }));
      return { hits: [...hits, ...always].map((hit) => toHit(state, hit)), found: hits.length > 0 };
    },
  };
}

function passes(
  state: StringStorage,
  { filter, variables }: Pick<SearchRequest, 'filter' | 'variables'>,
): (index: number) => boolean {
  const holds = filter?.bind(variables);
  return (index) => !holds || holds(metadataFields(entryAt(state, index).metadata));
}

async function keepEligible(
  entries: ReadonlySet<number>,
  isEligible: (index: number) => boolean,
): Promise<ReadonlySet<number>> {
  const yieldToOthers = createYielder();
  const kept = new Set<number>();
  let visited = 0;
  for (const index of entries) {
    if (isEligible(index)) kept.add(index);
    if (visited++ % entriesPerChunk === 0) await yieldToOthers();
  }
  return kept;
}

function putKeysFirst(
  ranked: readonly RankedEntry[],
  withKeys: ReadonlySet<number>,
  orderOf: (index: number) => number,
): readonly RankedEntry[] {
  if (withKeys.size === 0) return ranked;
  const scores = new Map(ranked.map(({ index, score }) => [index, score]));
  const first = [...withKeys]
    .map((index) => ({ index, score: scores.get(index) ?? 0 }))
    .sort((a, b) => orderOf(b.index) - orderOf(a.index) || b.score - a.score);
  return [...first, ...ranked.filter(({ index }) => !withKeys.has(index))];
}

function toHit(storage: StringStorage, { index, score }: RankedEntry): Hit {
  const { id, text, metadata } = entryAt(storage, index);
  return { id, text, score, metadata };
}

const missingModel = (match: Match): Fault =>
  new Fault(
    'INVALID_PARAM_VALUE',
    `match "${match}" needs an embedding model, and there is none; name one of models.json with "purpose": "embedding" as "embedding_model" of the storage's file or of the node, or match by something else`,
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
