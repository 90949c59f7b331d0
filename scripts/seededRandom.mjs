// Seeded pseudo-random numbers (mulberry32): the same seed gives the same run of a script.

/**
 * The choices that scripts make at random.
 * @typedef {object} Rng
 * @property {(limit: number) => number} below A whole number from 0 to below the limit.
 * @property {(low: number, high: number) => number} between A number from low to below high.
 * @property {<Item>(list: readonly Item[]) => Item} pick One item of a list.
 * @property {(times: number) => boolean} oneIn True with probability 1/times.
 * @property {(share: number) => boolean} chance True with this probability, from 0 to 1.
 * @property {<Item>(list: readonly Item[]) => Item[]} shuffled A copy of a list in random order.
 */

/**
 * Creates a generator of numbers from 0 to below 1.
 * @param {number} seed
 * @returns {() => number}
 */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A whole number from 0 to below the limit.
 * @param {() => number} random
 * @param {number} limit
 */
export const below = (random, limit) => Math.floor(random() * limit);

/**
 * One item of a list.
 * @template Item
 * @param {() => number} random
 * @param {readonly Item[]} list
 * @returns {Item}
 */
export const pick = (random, list) => list[below(random, list.length)];

/**
 * Creates a random number generator with the choices that scripts make.
 * @param {number} seed
 * @returns {Rng}
 */
export function createRng(seed) {
  const random = createRandom(seed);
  return {
    below: (limit) => below(random, limit),
    between: (low, high) => low + random() * (high - low),
    pick: (list) => pick(random, list),
    oneIn: (times) => below(random, times) === 0,
    chance: (share) => random() < share,
    shuffled(list) {
      const left = [...list];
      return list.map(() => left.splice(below(random, left.length), 1)[0]);
    },
  };
}
