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
