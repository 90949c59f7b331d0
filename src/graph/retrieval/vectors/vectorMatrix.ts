/** The vectors of the texts of a storage: one row for each, in the order of its list, all in one array. */
export interface VectorMatrix {
  /** Vectors of length 1, or of zeros for a text without tokens. */
  readonly values: Float32Array<ArrayBuffer>;
  readonly dimensions: number;
}

/** The number of vectors. */
export const countRows = ({ values, dimensions }: VectorMatrix): number => values.length / dimensions;

/**
 * The dot products of a vector with the rows from `from` to `to` (exclusive), written to `scores` from its beginning.
 * Four sums at a time: the processor adds them in parallel.
 */
export function dotRows(
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
    scores[row - from] = a + b + c + d;
  }
}
