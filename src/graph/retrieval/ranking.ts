/** An entry and how well it matches. */
export interface RankedEntry {
  /** Its index in the list of the storage. */
  readonly index: number;
  readonly score: number;
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
  /**
   * Computes the vector of the query, and compares it with those of the entries.
   * @returns the entries of the highest cosine similarity, best first; none below `minSimilarity`, unless that is 0.
   */
  search(request: RankingRequest & { readonly minSimilarity: number }): Promise<readonly RankedEntry[]>;
}

/** The best of many entries: a heap whose root is the worst of those that are kept. */
export class BestEntries {
  readonly #max: number;
  readonly #heap: RankedEntry[] = [];

  /** @param max how many are kept. */
  constructor(max: number) {
    this.#max = max;
  }

  /** The entries, best first; of equal ones that with the lower index. */
  get sorted(): readonly RankedEntry[] {
    return this.#heap.toSorted((a, b) => (isWorse(a, b) ? 1 : -1));
  }

  /** Whether an entry would be kept. */
  admits(index: number, score: number): boolean {
    const [worst] = this.#heap;
    return this.#heap.length < this.#max || (worst !== undefined && isWorse(worst, { index, score }));
  }

  /** Keeps an entry, and drops the worst one if there are too many. */
  add(entry: RankedEntry): void {
    if (this.#heap.length < this.#max) this.#rise(this.#heap.push(entry) - 1, entry);
    else this.#sink(entry);
  }

  #rise(from: number, entry: RankedEntry): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#heap[parent];
      if (!above || !isWorse(entry, above)) break;
      this.#heap[at] = above;
      at = parent;
    }
    this.#heap[at] = entry;
  }

  #sink(entry: RankedEntry): void {
    let at = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * at + 1], this.#heap[2 * at + 2]];
      if (!left) break;
      const [child, next] = right && isWorse(right, left) ? [right, 2 * at + 2] : [left, 2 * at + 1];
      if (!isWorse(child, entry)) break;
      this.#heap[at] = child;
      at = next;
    }
    this.#heap[at] = entry;
  }
}

const isWorse = (a: RankedEntry, b: RankedEntry): boolean =>
  a.score < b.score || (a.score === b.score && a.index > b.index);

/** Reciprocal rank fusion, the constant of its paper (Cormack, Clarke, Büttcher 2009). */
const rankConstant = 60;

/** Fuses rankings by reciprocal rank fusion: an entry's score is the sum of 1 / (60 + rank) over the rankings that have it. */
export function fuseRanks(rankings: readonly (readonly RankedEntry[])[]): readonly RankedEntry[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings)
    for (const [rank, { index }] of ranking.entries())
      scores.set(index, (scores.get(index) ?? 0) + 1 / (rankConstant + rank + 1));
  return [...scores].map(([index, score]) => ({ index, score })).sort((a, b) => b.score - a.score);
}
