// Generated lore for the retrieve case: entries of made-up words, whose frequencies fall as those of a language do (Zipf).
import { createRng } from '../seededRandom.mjs';

const syllables = 'ba ke lo mi nu ra se ti vo da fe go hi ju ka pel mor gar than dor win ster'.split(' ');
const wordsPerEntry = 40;
const wordsPerQuery = 6;
const vocabularySize = 50_000;

/** Draws words, entries and queries; the same seed gives the same ones. */
export class GeneratedLore {
  #rng;
  #words = [];

  /** @param {number} seed */
  constructor(seed) {
    this.#rng = createRng(seed);
    const words = new Set();
    while (words.size < vocabularySize) {
      const count = this.#rng.between(2, 4);
      words.add(Array.from({ length: Math.round(count) }, () => this.#rng.pick(syllables)).join(''));
    }
    this.#words = [...words];
  }

  /**
   * @param {number} count
   * @returns The records of a `.kb.json` file.
   */
  records(count) {
    return Array.from({ length: count }, (_, index) => ({
      id: `entry-${index}`,
      text: this.#text(wordsPerEntry),
      metadata: { level: index % 20 },
    }));
  }

  /** A query of six words, each misspelled by a missing letter with probability 1/4. */
  query() {
    const words = this.#text(wordsPerQuery).split(' ');
    return words.map((word) => (this.#rng.oneIn(4) ? this.#misspell(word) : word)).join(' ');
  }

  #misspell(word) {
    const missing = 1 + this.#rng.below(word.length - 1);
    return word.slice(0, missing) + word.slice(missing + 1);
  }

  #text(count) {
    return Array.from({ length: count }, () => this.#word()).join(' ');
  }

  // The n-th word is about 1/n as frequent as the first.
  #word() {
    return this.#words[Math.floor(vocabularySize ** this.#rng.between(0, 1)) - 1];
  }
}
