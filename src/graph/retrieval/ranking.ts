import type { StringStorage } from '../storage/stringStorage.ts';

/** An entry and how well it matches. */
export interface RankedEntry {
  /** Its index in the list of the storage. */
  readonly index: number;
  readonly score: number;
  /** Of a search by words: the share of the query that the entry has, weighted by the rarity of the words; 0 to 1. */
  readonly coverage?: number;
}

/** A search for the entries that match best, by words or by vectors. */
export interface RankingRequest {
  readonly query: string;
  /** Max entries to return. */
  readonly topK: number;
  /** Whether an entry is searched, by its index in the list of the storage. It costs more than a comparison: ask it last. */
  isEligible(index: number): boolean;
  readonly signal: AbortSignal | undefined;
}

/** The vectors of a storage, computed by one embedding model. */
export interface VectorSearch {
  /** Resolves when all vectors are there; rejects with what the model throws. Absent: they are there. */
  readonly computed?: Promise<unknown>;
  /** Compares the query's vector with the entries'. @returns the nearest ones; none below `minSimilarity`, if not 0. */
  search(request: VectorRequest): Promise<readonly RankedEntry[]>;
  /** Compares a text such as the entries with groups of them. @returns the nearest entry of each group, the nearest group first. */
  nearestGroups(request: GroupsRequest): Promise<readonly RankedEntry[]>;
}

export interface VectorRequest extends RankingRequest {
  /** The state of the storage that is searched. Absent: the one that it has now. */
  readonly state?: StringStorage;
  readonly minSimilarity: number;
}

/** A search for the groups of entries that are nearest to a text. */
export interface GroupsRequest extends Omit<VectorRequest, 'topK' | 'minSimilarity'> {
  /** The group of an entry; undefined: it is not searched. */
  groupOf(index: number): string | undefined;
}

/** Keeps the entries that match best. @param max how many. */
export function bestEntries(max: number) {
  /** Best first; of equal ones that with the lower index. */
  const sorted: RankedEntry[] = [];
  /** Whether an entry would be kept. */
  const admits = (index: number, score: number): boolean => {
    const worst = sorted.at(-1);
    return sorted.length < max || (worst !== undefined && isWorse(worst, { index, score }));
  };
  /** Puts an entry in its place, and drops the worst one if there are too many. */
  const add = (entry: RankedEntry): void => {
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = sorted[middle];
      if (other && isWorse(other, entry)) to = middle;
      else from = middle + 1;
    }
    sorted.splice(from, 0, entry);
    if (sorted.length > max) sorted.pop();
  };
  return { sorted: sorted as readonly RankedEntry[], admits, add };
}

const isWorse = (a: RankedEntry, b: RankedEntry): boolean =>
  a.score < b.score || (a.score === b.score && a.index > b.index);

/**
 * Fuses a ranking by words with one by vectors. The score of an entry, 0 to 2, is where its similarity lies between the least
 * and the best one, plus the cube of its coverage: some words of the query are in many an entry by chance, all of them are not.
 * The scale of the similarities, which depends on the model, does not count.
 * @param minSimilarity entries below it that no word has found are left out; 0 = none.
 */
export function fuseRankings(
  byWords: readonly RankedEntry[],
  byVectors: readonly RankedEntry[],
  minSimilarity: number,
): readonly RankedEntry[] {
  const [best, least] = [byVectors[0]?.score ?? 0, byVectors.at(-1)?.score ?? 0];
  const scores = new Map(byWords.map(({ index, coverage = 0 }) => [index, coverage ** 3]));
  for (const { index, score } of byVectors) {
    const byWord = scores.get(index);
    if (byWord === undefined && minSimilarity !== 0 && score < minSimilarity) continue;
    scores.set(index, (byWord ?? 0) + (best > least ? (score - least) / (best - least) : 1));
  }
  return [...scores].map(([index, score]) => ({ index, score })).sort((a, b) => b.score - a.score);
}
