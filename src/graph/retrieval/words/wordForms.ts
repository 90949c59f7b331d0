import { setOf } from './functionWords.ts';

/** They end as plurals, and mean something else than the word without the ending. */
const noPlurals = setOf('news means goods blues odds thanks lens lives leaves physics politics economics ethics');
/** The same of names, which are written with a capital: `Wells` is no plural of `well`, nor `Peters` of `Peter`. */
const names = setOf(
  `abrams adams alexis andreas andrews banks bates bells brooks collins daniels davis edwards elias evans fields flowers
  giles harris hayes hills jacobs james jonas jones jules keys lewis lucas mars matthews michaels miles myers nicolas owens
  parks peters phillips reeves rhodes richards rivers roberts sanders sands simmons stephens stevens stones summers thomas
  wales waters wells williams wills winters woods`,
);
const irregular = new Map(
  'men man,women woman,children child,feet foot,teeth tooth,geese goose,mice mouse,oxen ox'
    .split(',')
    .map((pair) => pair.split(' ') as [string, string]),
);
/** Words ending so have a plural in -ves. */
const withVes = /(?:wol|el|dwar|kni|lea|thie|hal|shel|cal|loa|scar|hoo|whar|wi|sel|shea)fe?$/;
const germanWords = setOf('der das dem und ist sind ein eine einen einem wo wer wie ich nicht mit gibt');

/** The singular of a plural that changes a word before its ending: `watchmen`, the French `animaux`. */
const singularOf = (word: string): string =>
  irregular.get(word) ?? (word.length > 5 ? word.replace(/men$/, 'man').replace(/([^e])aux$/, '$1al') : word);

/** The part that all forms of a word have in common, and some other words too: `isForm` tells them apart. */
export function commonPart(word: string): string {
  const singular = singularOf(word.toLowerCase());
  let end = singular.length;
  while (end > 0 && 'sefiyvx'.includes(singular.charAt(end - 1))) end--;
  return singular.slice(0, end);
}

/** Whether words of a text are German, as far as function words tell it that are no English words. */
export const isGerman = (words: readonly string[]): boolean =>
  words.some((word) => germanWords.has(word.toLowerCase()));

/** Whether two words differ at most by a plain plural: `wolf` and `wolves`. The case is not ignored: it tells names. */
export function isForm(one: string, other: string, inGerman: boolean): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  const [singular, plural] = [short.toLowerCase(), long.toLowerCase()];
  if (singular === plural) return true;
  if (noPlurals.has(plural) || (names.has(plural) && /^\p{Lu}/u.test(long))) return false;
  if (singularOf(plural) === singular || singularOf(singular) === plural) return true;
  const ending = plural.startsWith(singular) ? plural.slice(singular.length) : '';
  switch (ending) {
    case 's':
      return singular.length >= (short === short.toUpperCase() ? 2 : 3) && /[^\P{L}s]$/u.test(singular);
    case 'es':
      return /(?:[sxzo]|ch|sh)$/.test(singular);
    case 'x':
      return /[ae]u$/.test(singular);
    case 'e':
      return inGerman && singular.length >= 4 && /^\p{Lu}/u.test(short) && /^\p{Lu}/u.test(long);
    default:
      return isChangedPlural(singular, plural);
  }
}

/** Whether a plural in -ies or -ves is that of a word. */
function isChangedPlural(singular: string, plural: string): boolean {
  if (/[^aeiou]y$/.test(singular)) return plural === `${singular.slice(0, -1)}ies`;
  return withVes.test(singular) && plural === singular.replace(/fe?$/, 'ves');
}
