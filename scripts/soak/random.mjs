// Chance that can be had again: everything that a trial leaves to chance comes from one seed.
import { randomFrom } from '../fuzz/frames.mjs';

/** Chance of a seed, as the choices that trials make. */
export function chanceFrom(seed) {
  const random = randomFrom(seed);
  const below = (limit) => Math.floor(random() * limit);
  return {
    below,
    between: (low, high) => low + random() * (high - low),
    pick: (list) => list[below(list.length)],
    /** True once in so many times. */
    once: (times) => below(times) === 0,
  };
}
