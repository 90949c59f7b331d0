import { stemmer } from 'stemmer';

/** Longer words are no words of a language, and take the stemmer long. */
const maxStemmedLength = 40;

/**
 * The stem that the forms of a word share: `families` and `family`, `hanged` and `hanging` (Porter's algorithm, which is for
 * English; words of other languages lose at most an ending, in texts and queries alike). A final v counts as f, as in
 * `wolves` and `wolf`.
 */
export const wordStem = (word: string): string =>
  word.length > maxStemmedLength ? word.slice(0, maxStemmedLength) : stemmer(word).replace(/v$/, 'f');
