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

/** The best of many entries. */
export class BestEntries {
  readonly #max: number;
  readonly #entries: RankedEntry[] = [];

  /** @param max how many are kept. */
  constructor(max: number) {
    this.#max = max;
  }

  /** The entries, best first; of equal ones that with the lower index. */
  get sorted(): readonly RankedEntry[] {
    return this.#entries;
  }

  /** Whether an entry would be kept. */
  admits(index: number, score: number): boolean {
    const worst = this.#entries.at(-1);
    return this.#entries.length < this.#max || (worst !== undefined && isWorse(worst, { index, score }));
  }

  /** Puts an entry in its place, and drops the worst one if there are too many. */
  add(entry: RankedEntry): void {
    let [from, to] = [0, this.#entries.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#entries[middle];
      if (other && isWorse(other, entry)) to = middle;
      else from = middle + 1;
    }
    this.#entries.splice(from, 0, entry);
    if (this.#entries.length > this.#max) this.#entries.pop();
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
