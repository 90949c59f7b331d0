import { randomInt } from 'node:crypto';
import type { LlamaContextSequence } from 'node-llama-cpp';
import { patchMethod } from '../nativePatches.ts';

/** Larger than any seed: llama.cpp takes 0xffffffff as "choose a seed". */
const maxSeed = 0xffffffff;

/**
 * The seeds of the draws of one generation, one for each token. The library's random numbers go on only as long as one
 * evaluation does, and a generation that is paused has several. With a seed for each draw its text does not depend on pauses.
 * @param given 0 = random.
 * @returns what draws with these seeds in a cache until the returned function is called. @throws Error when this release cannot.
 */
export function drawSeeds(given: number): (cache: LlamaContextSequence) => () => void {
  const first = given === 0 ? randomInt(1, maxSeed) : given;
  let draws = 0;
  const next = (): number => mixBits((first + Math.imul(++draws, 0x9e3779b9)) >>> 0) % maxSeed;
  return (cache) =>
    patchMethod<(options: unknown) => object>(cache, '_resolveSamplerConfig', (resolve) => (options) => ({
      ...resolve(options),
      seed: next(),
    }));
}

/** Spreads similar numbers of 32 bits over all numbers of 32 bits (the finalizer of MurmurHash3). */
function mixBits(number: number): number {
  let bits = number;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
