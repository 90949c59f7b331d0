// What is made of measurements: medians, and a figure with its goal and whether it is met.

/** The value below which a share of the numbers lies; 0.5 is the median. */
export function quantile(numbers, share) {
  if (numbers.length === 0) throw new RangeError('of no numbers there is no quantile');
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below + (above - below) * (at - Math.floor(at));
}

export const median = (numbers) => quantile(numbers, 0.5);

/** Medians of one entry of all results. */
export const medianOf = (results, pick) => median(results.map(pick));

/**
 * Measures sides in turn: A B, B A, A B ... after one round that does not count.
 * @param sides a function for each side's name; it takes the number of the round, 0 for the warm-up.
 * @returns the results of each side.
 */
export async function interleaved(sides, rounds, { warmUps = 1 } = {}) {
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

/** Whether a goal is met; null where there is none and the figure is only reported. */
export function verdict({ ratio, goal, better }) {
  if (goal === null) return null;
  if (better !== 'higher' && better !== 'lower') throw new RangeError(`better is "higher" or "lower", not "${better}"`);
  return better === 'higher' ? ratio >= goal : ratio <= goal;
}

/**
 * A figure of a row. `ratio` is the figure itself, also where it is no ratio but has a unit; `of` tells the figures of a
 * row apart; `better` is `higher` or `lower`; a goal of null means that it is only reported.
 */
export function figure({ name, of, ratio, unit = 'x', goal, better, ...detail }) {
  return { name, of, ratio, unit, goal, better, met: verdict({ ratio, goal, better }), detail };
}
