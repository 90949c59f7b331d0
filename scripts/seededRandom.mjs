// Chance that can be had again: everything that a script leaves to chance comes from one seed.

/** Draws numbers from 0 to below 1: the same ones for the same seed. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from 0 to below the limit. */
export const below = (random, limit) => Math.floor(random() * limit);

/** One of a list. */
export const pick = (random, list) => list[below(random, list.length)];

/** Chance of a seed, as the choices that scripts make. */
export function chanceFrom(seed) {
  const random = randomFrom(seed);
  return {
    below: (limit) => below(random, limit),
    between: (low, high) => low + random() * (high - low),
    pick: (list) => pick(random, list),
    /** True once in so many times. */
    once: (times) => below(random, times) === 0,
    /** True in this share of the times. */
    often: (share) => random() < share,
    /** A list in another order. */
    shuffled(list) {
      const left = [...list];
      return list.map(() => left.splice(below(random, left.length), 1)[0]);
    },
  };
}
