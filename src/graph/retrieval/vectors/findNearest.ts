import { sharedAdmission } from '../../../base/eventLoop.ts';
import type { RankedEntry, RankingRequest } from '../vectorSearch.ts';
import { BestEntries } from '../bestEntries.ts';
import { countRows, dotRows, type VectorMatrix } from './vectorMatrix.ts';

/** Rows that are compared at once: less than a millisecond for vectors of 384 numbers. */
const rowsPerSlice = 2048;

/**
 * Finds the rows that are nearest to a vector: exact cosine similarity with all of them, in slices between which the event
 * loop runs.
 * @param vector of length 1.
 * @returns best first; of equal ones that with the lower index.
 * @throws the reason of the signal.
 */
export async function findNearest(
  matrix: VectorMatrix,
  vector: Float32Array,
  request: Omit<RankingRequest, 'query'> & { readonly minSimilarity: number },
): Promise<readonly RankedEntry[]> {
  const { topK, minSimilarity, isEligible, signal } = request;
  const best = new BestEntries(topK);
  const min = minSimilarity === 0 ? -Infinity : minSimilarity;
  const scores = new Float64Array(rowsPerSlice);
  const rows = countRows(matrix);
  for (let from = 0; from < rows; from += rowsPerSlice) {
    const admitted = sharedAdmission();
    if (admitted) await admitted;
    signal?.throwIfAborted();
    const to = Math.min(rows, from + rowsPerSlice);
    dotRows(matrix, vector, { from, to }, scores);
    for (let index = from; index < to; index++) {
      const score = scores[index - from] ?? 0;
      if (score >= min && best.admits(index, score) && isEligible(index)) best.add({ index, score });
    }
  }
  return best.sorted;
}
