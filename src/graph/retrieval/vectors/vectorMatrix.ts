import { sharedAdmission } from '../../../base/eventLoop.ts';
import { bestEntries, type RankedEntry, type RankingRequest } from '../ranking.ts';

/** The vectors of the texts of a storage: one row for each, in the order of its list, all in one array. */
export interface VectorMatrix {
  /** Vectors of length 1, or of zeros for a text without tokens. */
  readonly values: Float32Array<ArrayBuffer>;
  readonly dimensions: number;
}

export const countRows = ({ values, dimensions }: VectorMatrix): number => values.length / dimensions;

/** The dot products of a vector with rows, from `from` to before `to`. Four sums at a time: they run in parallel. */
function dotRows(
  { values, dimensions }: VectorMatrix,
  vector: Float32Array,
  { from, to }: { readonly from: number; readonly to: number },
  scores: Float64Array,
): void {
  const inFours = dimensions - (dimensions % 4);
  for (let row = from; row < to; row++) {
    const start = row * dimensions;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let index = 0; index < inFours; index += 4) {
      const at = start + index;
      a += (values[at] ?? 0) * (vector[index] ?? 0);
      b += (values[at + 1] ?? 0) * (vector[index + 1] ?? 0);
      c += (values[at + 2] ?? 0) * (vector[index + 2] ?? 0);
      d += (values[at + 3] ?? 0) * (vector[index + 3] ?? 0);
    }
    for (let index = inFours; index < dimensions; index++) a += (values[start + index] ?? 0) * (vector[index] ?? 0);
    // Rounded numbers can give more than the cosine can be.
    scores[row - from] = Math.max(-1, Math.min(1, a + b + c + d));
  }
}

/** Rows that are compared at once: less than a millisecond for vectors of 384 numbers. */
const rowsPerSlice = 2048;

/**
 * Calls `visit` with the cosine similarity of a vector of length 1 with each row, in slices between which the event loop runs.
 * @throws the reason of the signal.
 */
export async function compareRows(
  matrix: VectorMatrix,
  vector: Float32Array,
  signal: AbortSignal | undefined,
  visit: (index: number, score: number) => void,
): Promise<void> {
  const scores = new Float64Array(rowsPerSlice);
  const rows = countRows(matrix);
  for (let from = 0; from < rows; from += rowsPerSlice) {
    const admitted = sharedAdmission();
    if (admitted) await admitted;
    signal?.throwIfAborted();
    const to = Math.min(rows, from + rowsPerSlice);
    dotRows(matrix, vector, { from, to }, scores);
    for (let index = from; index < to; index++) visit(index, scores[index - from] ?? 0);
  }
}

/**
 * Finds the rows that are nearest to a vector of length 1: exact cosine similarity with all of them.
 * @returns best first; of equal ones that with the lower index.
 * @throws the reason of the signal.
 */
export async function findNearest(
  matrix: VectorMatrix,
  vector: Float32Array,
  request: Omit<RankingRequest, 'query'> & { readonly minSimilarity: number },
): Promise<readonly RankedEntry[]> {
  const { topK, minSimilarity, isEligible, signal } = request;
  const best = bestEntries(topK);
  const min = minSimilarity === 0 ? -Infinity : minSimilarity;
  await compareRows(matrix, vector, signal, (index, score) => {
    if (score >= min && best.admits(index, score) && isEligible(index)) best.add({ index, score });
  });
  return best.sorted;
}
