import { stemmer } from 'stemmer';
import { createYielder } from '../../../base/eventLoop.ts';
import { foldText, isAscii } from '../../../base/foldText.ts';

/** Scripts that are written without spaces between words, and Hangul, whose words have endings without a space. */
const spaceless =
  /[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const spacelessRun = new RegExp(`${spaceless.source}+|[^${spaceless.source.slice(1, -1)}]+`, 'gu');

/** The words of a text, lower case, no diacritics; in a script without spaces each pair of characters (bigrams). */
export function splitWords(text: string): readonly string[] {
  const words = fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.some((word) => spaceless.test(word)) ? words.flatMap(splitSpaceless) : words;
}

/** One form of each letter, without some marks. */
const withoutMarks = (text: string, marks: RegExp): string =>
  isAscii(text) ? text : foldText(text).normalize('NFKD').replaceAll(marks, '').normalize('NFC');

const fold = (text: string): string => withoutMarks(text.toLowerCase().replaceAll(/n['’]t\b/g, ' not'), /\p{M}+/gu);

/** A text as keys are compared: without accents and invisible marks, case kept. Other scripts keep their marks. */
export const foldKey = (text: string): string =>
  isAscii(text)
    ? text
    : withoutMarks(text, accents)
        .replaceAll(/[‘’ʼ]/g, "'")
        .replaceAll(/[“”„«»]/g, '"')
        .replaceAll(/\p{Pd}/gu, '-');

const accents = /(?:[\u{300}-\u{36f}\u{653}-\u{655}]|\p{Cf})+/gu;

/** The single characters of scripts without spaces, each of which may be a word; of a query only those that stand alone are. */
export function splitCharacters(text: string): readonly string[] {
  return spaceless.test(text) ? [...fold(text)].filter((character) => spaceless.test(character)) : [];
}

const splitSpaceless = (word: string): readonly string[] =>
  runsOf(word).flatMap((run) => (spaceless.test(run) ? bigrams([...run]) : [run]));

/** The parts of a word that are of a script without spaces, and those that are not. */
const runsOf = (word: string): readonly string[] => (spaceless.test(word) ? (word.match(spacelessRun) ?? []) : [word]);

const bigrams = (characters: readonly string[]): readonly string[] =>
  characters.length < 2
    ? characters
    : characters.slice(1).map((character, index) => `${characters[index]}${character}`);

const piece = 16 * 1024;
const maxWordLength = 64;

/** A text in pieces that are split into words one by one, so that a long text does not hold the event loop. */
export function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > piece) {
    let end = start + piece;
    while (end > start + piece - maxWordLength && /[\p{L}\p{N}\p{M}\p{Cs}]/u.test(text.charAt(end - 1))) end--;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

/** What a function makes of the pieces of a long text, together. */
export async function splitPieces(
  text: string,
  split: (piece: string) => readonly string[],
): Promise<readonly string[]> {
  const yieldToOthers = createYielder();
  const parts: (readonly string[])[] = [];
  for (const piece of piecesOf(text)) {
    parts.push(split(piece));
    await yieldToOthers();
  }
  return parts.flat();
}

/** Longer words are no words of a language, and take the stemmer long. */
const maxStemmedLength = 40;

/**
 * The stem that the forms of a word share: `families` and `family`, `hanged` and `hanging` (Porter's algorithm, which is for
 * English; words of other languages lose at most an ending, in texts and queries alike). A final v counts as f, as in
 * `wolves` and `wolf`.
 */
export const wordStem = (word: string): string =>
  word.length > maxStemmedLength ? word.slice(0, maxStemmedLength) : stemmer(word).replace(/v$/, 'f');

const keyToken = /([\p{L}\p{N}\p{M}]+)('(?:s|t|ll|re|ve|d|m)(?![\p{L}\p{N}]))?([+#]*)|[.!?;:,。、]/giu;

/**
 * The words of a text as keys are compared with them: without the `'s` of a possessive, `C++` and `C#` as a word each, "."
 * for what divides phrases. Of a script without spaces each character is a word; the first of a Korean one is marked, as
 * only its ending varies.
 */
export function keyWordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [whole, word, ending = '', symbols = ''] of foldKey(text).matchAll(keyToken)) {
    if (word === undefined) words.push('.');
    else if (spaceless.test(word)) words.push(...runsOf(word).flatMap(charactersOf));
    else words.push(/^'t$/i.test(ending) && /n$/i.test(word) ? whole : `${word}${symbols}`);
  }
  return words;
}

function charactersOf(run: string): readonly string[] {
  if (!spaceless.test(run)) return [run];
  return [...(/^\p{Script=Hangul}/u.test(run) ? run.replace(/^./u, '^$&') : run)];
}
