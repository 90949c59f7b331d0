import { describe, expect, it } from 'vitest';
import { normalizeVector } from '../../../../../src/inference/contract/model.ts';
import { findNearestGroups } from '../../../../../src/graph/retrieval/vectors/nearestGroups.ts';
import { findNearest } from '../../../../../src/graph/retrieval/vectors/vectorMatrix.ts';
import { createRandom } from '../../../../../scripts/seededRandom.mjs';

const random = createRandom(7);
const randomVector = (dimensions: number): Float32Array =>
  normalizeVector(Float32Array.from({ length: dimensions }, () => random() - 0.5));
/** Rows of which some are equal, and some zeros. */
const createRows = (count: number, dimensions: number): readonly Float32Array[] => {
  const rows = Array.from({ length: count }, () => randomVector(dimensions));
  return rows.map((row, index) =>
    index % 7 === 3 ? new Float32Array(dimensions) : (rows[index - (index % 5)] ?? row),
  );
};
const toMatrix = (rows: readonly Float32Array[], dimensions: number) => {
  const values = new Float32Array(rows.length * dimensions);
  for (const [index, row] of rows.entries()) values.set(row, index * dimensions);
  return { values, dimensions };
};
const everything = { isEligible: () => true, signal: undefined };

/** The same search, written plainly. */
function rank(rows: readonly Float32Array[], vector: Float32Array, minSimilarity: number) {
  return rows
    .map((row, index) => ({ index, score: row.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0) }))
    .filter(({ score }) => minSimilarity === 0 || score >= minSimilarity)
    .toSorted((a, b) => b.score - a.score || a.index - b.index);
}

describe('the nearest vectors', () => {
  it.each([
    [1, 1, 3],
    [40, 5, 3],
    [40, 5, 1000],
    [3000, 33, 50],
    [5000, 384, 1],
  ])('of %i with %i numbers are the %i that a plain computation finds', async (count, dimensions, topK) => {
    const rows = createRows(count, dimensions);
    const matrix = toMatrix(rows, dimensions);
    for (const minSimilarity of [0, 0.1, -0.5]) {
      const vector = randomVector(dimensions);
      const found = await findNearest(matrix, vector, { ...everything, topK, minSimilarity });
      const expected = rank(rows, vector, minSimilarity).slice(0, topK);
      expect(found).toHaveLength(expected.length);
      for (const [at, { index, score }] of found.entries()) {
        expect(score).toBeCloseTo(expected[at]?.score ?? NaN, 5);
        // Of equal rows the first comes first.
        expect(rows[index]).toEqual(rows[expected[at]?.index ?? -1]);
      }
      expect(new Set(found.map(({ index }) => index)).size).toBe(found.length);
    }
  });

  it('have a cosine of at most 1, and at least -1', async () => {
    for (let count = 0; count < 200; count++) {
      const row = randomVector(384);
      const matrix = toMatrix([row, row.map((value) => -value)], 384);
      const found = await findNearest(matrix, row, { ...everything, topK: 2, minSimilarity: 0 });
      expect(Math.max(...found.map(({ score }) => Math.abs(score)))).toBeLessThanOrEqual(1);
    }
  });

  it('of equal ones are the first', async () => {
    const row = randomVector(8);
    const matrix = toMatrix([row, row, row, row], 8);
    const found = await findNearest(matrix, row, { ...everything, topK: 2, minSimilarity: 0 });
    expect(found.map(({ index }) => index)).toEqual([0, 1]);
    expect(found[0]?.score).toBeCloseTo(1, 6);
  });

  it('are those that are eligible, however far they are', async () => {
    const rows = createRows(500, 16);
    const vector = randomVector(16);
    const isEligible = (index: number): boolean => index % 100 === 0;
    const found = await findNearest(toMatrix(rows, 16), vector, {
      ...everything,
      isEligible,
      topK: 3,
      minSimilarity: 0,
    });
    const expected = rank(rows, vector, 0).filter(({ index }) => isEligible(index));
    expect(found.map(({ index }) => index)).toEqual(expected.slice(0, 3).map(({ index }) => index));
  });

  it('are asked about only when they are near enough', async () => {
    const rows = createRows(2000, 16);
    let asked = 0;
    const isEligible = (): boolean => asked++ >= 0;
    await findNearest(toMatrix(rows, 16), randomVector(16), { ...everything, isEligible, topK: 3, minSimilarity: 0 });
    expect(asked).toBeLessThan(200);
  });

  it('are not looked for any more once the signal is aborted', async () => {
    const abort = new AbortController();
    const isEligible = (): boolean => {
      abort.abort(new Error('enough'));
      return true;
    };
    const matrix = toMatrix(createRows(5000, 4), 4);
    const request = { isEligible, signal: abort.signal, topK: 1, minSimilarity: 0 };
    await expect(findNearest(matrix, randomVector(4), request)).rejects.toThrow('enough');
  });

  it('of no vectors are none', async () => {
    expect(await findNearest(toMatrix([], 4), randomVector(4), { ...everything, topK: 3, minSimilarity: 0 })).toEqual(
      [],
    );
  });
});

describe('the nearest groups of vectors', () => {
  const groupsOf = (rows: readonly Float32Array[], vector: Float32Array, names: readonly (string | undefined)[]) =>
    findNearestGroups(toMatrix(rows, 16), vector, { ...everything, groupOf: (index) => names[index] });

  it('of one row each are the nearest rows', async () => {
    const rows = createRows(300, 16);
    const names = rows.map((_, index) => (index % 11 === 0 ? undefined : `${index}`));
    const vector = randomVector(16);
    const expected = rank(rows, vector, 0).filter(({ index }) => names[index] !== undefined);
    const found = await groupsOf(rows, vector, names);
    expect(found.map(({ score }) => score.toFixed(5))).toEqual(expected.map(({ score }) => score.toFixed(5)));
  });

  it('have the similarity 1 with each of their rows, and name it', async () => {
    const rows = Array.from({ length: 60 }, () => randomVector(16));
    const names = rows.map((_, index) => `g${index % 9}`);
    for (const [index, row] of rows.entries()) {
      const [best, next] = await groupsOf(rows, row, names);
      expect(best).toEqual({ index, score: expect.closeTo(1, 5) as unknown });
      expect(next?.score).toBeLessThan(1);
      expect(names[next?.index ?? 0]).not.toBe(names[index]);
    }
  });

  it('are those with more rows near to the vector, or with less in common, if their nearest rows are as near', async () => {
    const axis = (...values: readonly number[]) =>
      normalizeVector(Float32Array.from({ length: 16 }, (_, at) => values[at] ?? 0));
    const vector = axis(1);
    const near = axis(1, 1);
    const order = async (one: readonly Float32Array[], other: readonly Float32Array[]) => {
      const names = [...one.map(() => 'one'), ...other.map(() => 'other')];
      const rows = [...one, ...other];
      return (await groupsOf(rows, vector, names)).map(({ index }) => names[index]);
    };
    expect(await order([near, axis(0, 1)], [near, axis(1, 0, 0.01)])).toEqual(['other', 'one']);
    expect(await order([near, axis(1, 0, 0, 1)], [near, axis(1, 1, 0, 0.1)])).toEqual(['one', 'other']);
  });

  it('of zeros are no number of their own', async () => {
    const zeros = new Float32Array(16);
    const found = await groupsOf([zeros, zeros, randomVector(16)], randomVector(16), ['a', 'a', 'b']);
    expect(found.every(({ score }) => Number.isFinite(score))).toBe(true);
  });
});
