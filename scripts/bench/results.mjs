// Benchmark statistics: quantiles, interleaved measuring, and results with a goal.

/**
 * One line of the benchmark.
 * @typedef {object} BenchResult
 * @property {string} name The case.
 * @property {string} of Distinguishes the results of one case.
 * @property {number} ratio The value, even where it is not a ratio and has a unit.
 * @property {string} unit `x` for a ratio.
 * @property {number | null} goal null: the value is only reported.
 * @property {'higher' | 'lower'} better Which direction is good.
 * @property {boolean | null} met null where there is no goal.
 * @property {Readonly<Record<string, unknown>>} detail Further measured values.
 */

/**
 * A quantile, interpolated linearly between neighbours; 0.5 is the median.
 * @param {readonly number[]} numbers
 * @param {number} share From 0 to 1.
 * @returns {number}
 * @throws {RangeError} For an empty list.
 */
export function quantile(numbers, share) {
  if (numbers.length === 0) throw new RangeError('of no numbers there is no quantile');
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * @param {readonly number[]} numbers
 * @returns {number}
 */
export const median = (numbers) => quantile(numbers, 0.5);

/**
 * The median of one value of each result.
 * @template Result
 * @param {readonly Result[]} results
 * @param {(result: Result) => number} pick
 * @returns {number}
 */
export const medianOf = (results, pick) => median(results.map(pick));

/**
 * Measures several sides alternately (A B, B A, A B ...), so that noise of the machine hits all of them.
 * @template {string} Side
 * @template Result
 * @param {Readonly<Record<Side, (round: number) => Promise<Result>>>} sides Each takes the number of the round, 0 or
 *   below in the warm-up.
 * @param {number} rounds Rounds that count.
 * @param {{ readonly warmUps?: number }} [options] Rounds before them that do not count; default 1.
 * @returns {Promise<Record<Side, Result[]>>} The results of each side.
 */
export async function measureInterleaved(sides, rounds, { warmUps = 1 } = {}) {
  const results = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (let round = 1 - warmUps; round <= rounds; round++) {
    const order = Object.entries(sides);
    for (const [side, measure] of round % 2 === 0 ? order.toReversed() : order) {
      const result = await measure(round);
      if (round > 0) results[side].push(result);
    }
  }
  return results;
}

/**
 * Whether a goal is met; null where there is none.
 * @param {Pick<BenchResult, 'ratio' | 'goal' | 'better'>} result
 * @returns {boolean | null}
 */
export function isGoalMet({ ratio, goal, better }) {
  if (goal === null) return null;
  if (better !== 'higher' && better !== 'lower') throw new RangeError(`better is "higher" or "lower", not "${better}"`);
  return better === 'higher' ? ratio >= goal : ratio <= goal;
}

/**
 * Creates a result of a case; properties without a meaning of their own become its `detail`.
 * @param {Pick<BenchResult, 'name' | 'of' | 'ratio' | 'goal' | 'better'> & {
 *   readonly unit?: string,
 *   readonly [detail: string]: unknown,
 * }} result
 * @returns {BenchResult}
 */
export function createResult({ name, of, ratio, unit = 'x', goal, better, ...detail }) {
  return { name, of, ratio, unit, goal, better, met: isGoalMet({ ratio, goal, better }), detail };
}
