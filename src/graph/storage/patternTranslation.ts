import { RE2JS, RE2Set } from 're2js';
import { escapePattern, splitPattern } from '../../base/patterns.ts';

/** A pattern that has no translation; the message says why. */
export class UntranslatablePattern extends Error {}

const word = '\\p{L}\\p{M}\\p{N}_';
// Classes of words are closed under case: expanding them would take ten times as long.
const escapes = new Map([
  ['\\w', `(?-i:[${word}])`],
  ['\\W', `(?-i:[^${word}])`],
  ['\\d', '\\p{Nd}'],
  ['\\D', '\\P{Nd}'],
]);
const spaces = '(?:\\s+)';
const isQuantifier = (part: string): boolean => /^(?:[*+?]|\{\d)/.test(part);
/** Whether an atom before a part need not be there. */
const isOptional = (next: string): boolean => /^(?:[*?]|\{0[,}])/.test(next);

/**
 * Translates a pattern for texts that are folded: its own characters are folded, `\w` and `\d` are letters and digits of
 * every script, and one space matches several. `\b` is left to the automaton.
 * @param fold what is done with the texts.
 * @throws UntranslatablePattern
 */
export function translatePattern(pattern: string, fold: (text: string) => string): string {
  const parts = splitPattern(withHexEscapes(pattern));
  let translated = '';
  let literal: string[] = [];
  const flush = (): void => {
    const folded = fold(literal.join(''));
    translated += folded === '' && literal.length > 0 ? emptyAtom('') : toLiteral(folded);
    literal = [];
  };
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1] ?? '';
    const text = /^[.^$|()*+?[{]/.test(part) ? undefined : textOf(part);
    if (text !== undefined) {
      if (part.length > 1 && fold(text) === '') translated += emptyAtom(next);
      else literal.push(...text);
      if (!isQuantifier(next) || literal.length === 0) continue;
      // The repetition is of the last letter with its marks.
      const last = literal.splice(literal.findLastIndex((character) => !/\p{M}/u.test(character)));
      if (literal.length > 0) flush();
      const folded = fold(last.join(''));
      translated += folded === '' ? emptyAtom(next) : `(?:${toLiteral(folded)})`;
      continue;
    }
    if (literal.length > 0) flush();
    if (part.startsWith('[')) translated += translateClass(part, next, fold);
    else if (part === '\\s') translated += isQuantifier(next) && next !== '?' ? part : spaces;
    else translated += escapes.get(part) ?? part;
  }
  if (literal.length > 0) flush();
  return translated;
}

/** The escapes of JavaScript for a character, as RE2 writes them. */
const withHexEscapes = (pattern: string): string =>
  pattern.replaceAll(
    /\\Q[^]*?(?:\\E|$)|\\u(?:\{([\da-f]{1,6})\}|([\da-f]{4}))|\\[^]/gi,
    (whole, braced?: string, plain = braced) => (plain === undefined ? whole : `\\x{${plain}}`),
  );

const toLiteral = (text: string): string => escapePattern(text).replaceAll(/\s+/g, spaces);

/** What stands for an atom that folding removes. @throws UntranslatablePattern where it must be there. */
function emptyAtom(next: string): string {
  if (isOptional(next)) return '(?:)';
  throw new UntranslatablePattern(
    'it has a part of invisible characters only (or of tatweel, vowel points), which are removed from the text before it is matched; remove the part',
  );
}

/** The text that a part stands for; undefined: it is no text. */
function textOf(part: string): string | undefined {
  if (part.startsWith('\\Q')) return part.slice(2).replace(/\\E$/, '') || undefined;
  const [, digits] = /^\\x\{?([\da-fA-F]+)\}?$/.exec(part) ?? [];
  const code = digits === undefined ? undefined : parseInt(digits, 16);
  if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
  if (/^\\[^A-Za-z0-9\x80-\u{10ffff}]$/u.test(part)) return part.slice(1);
  return part.startsWith('\\') || part.length > 2 ? undefined : part;
}

const classParts = /\[:\^?\w{1,16}:\]|\\[pP](?:\{[^}]{0,64}\}|[^])|\\x(?:\{[^}]{0,8}\}|[\da-fA-F]{2})|\\[^]|[^]/gu;
const codeOf = (character: string): string => `\\x{${(character.codePointAt(0) ?? 0).toString(16)}}`;

function translateClass(part: string, next: string, fold: (text: string) => string): string {
  const start = part.startsWith('[^') ? 2 : 1;
  const items = part.slice(start, -1).match(classParts) ?? [];
  if (!part.endsWith(']') || items.length === 0) return part;
  const isNegated = start === 2;
  const translated = new Set<string>();
  const others = new Set<string>();
  for (let index = 0; index < items.length; index++) {
    const item = items[index] ?? '';
    const [from, to] = [textOf(item), items[index + 1] === '-' ? textOf(items[index + 2] ?? '\\') : undefined];
    if (from !== undefined && to !== undefined) {
      index += 2;
      translated.add(`${codeOf(from)}-${codeOf(to)}`);
      for (const range of foldedRange(from, to, fold)) translated.add(range);
    } else if (from === undefined)
      (item === '\\W' && !isNegated ? others : translated).add(classEscape(item, isNegated));
    else {
      const folded = fold(from);
      if (folded === ' ') translated.add(isNegated ? ' ' : '\\s');
      else if ([...folded].length === 1) translated.add(codeOf(folded));
      else if (folded !== '') others.add(toLiteral(folded));
    }
  }
  if (translated.size + others.size === 0) return isNegated ? part : emptyAtom(next);
  if (!isNegated && translated.has('\\s') && (!isQuantifier(next) || next === '?')) others.add(spaces);
  const inner = [...translated].join('');
  const members = `[${part.slice(1, start)}${inner}]`;
  const atom = inner === '' ? [] : [translated.has(word) ? `(?-i:${members})` : members];
  const alternatives = isNegated ? atom : [...atom, ...others];
  const isAtom = alternatives.length === 1 && /^[[(]/.test(alternatives.join());
  return isAtom ? alternatives.join() : `(?:${alternatives.join('|')})`;
}

// The last character that has another case. Reading a range takes time for each of its characters up to it.
const lastCased = 0x1e943;

/** What reading the classes of a pattern takes, each once, as characters of a pattern without them. */
export function classReadingSize(pattern: string): number {
  let size = 0;
  for (const part of splitPattern(withHexEscapes(pattern)).filter((each) => each.startsWith('['))) {
    const items: readonly string[] = part.match(classParts) ?? [];
    const codeAt = (index: number): number => textOf(items[index] ?? '\\')?.codePointAt(0) ?? lastCased;
    for (let index = items.indexOf('-', 2); index > 0; index = items.indexOf('-', index + 2))
      size += Math.max(0, Math.min(codeAt(index + 1), lastCased) - codeAt(index - 1)) / 1500;
    // Its ranges are written out.
    if (part.startsWith('[^') && items.includes('\\W')) size += 40;
  }
  return Math.floor(size);
}

const classEscape = (item: string, isNegated: boolean): string =>
  item === '\\w' ? word : item === '\\W' && isNegated ? nonWordRanges() : (escapes.get(item) ?? item);

/** The range that the ends of a range are folded to, where it is the same range in another form: `０-９`. */
function foldedRange(from: string, to: string, fold: (text: string) => string): readonly string[] {
  const [start, end] = [[...fold(from)], [...fold(to)]];
  const [first = '', last = ''] = [start[0], end[0]];
  const width = (a: string, b: string): number => (b.codePointAt(0) ?? 0) - (a.codePointAt(0) ?? 0);
  const isSame = start.length === 1 && end.length === 1 && width(first, last) === width(from, to);
  return isSame && first !== from ? [`${codeOf(first)}-${codeOf(last)}`] : [];
}

let nonWord = '';

/** `\W` within a negated class. RE2 has no intersection of classes, so its ranges are written out. */
function nonWordRanges(): string {
  if (nonWord !== '') return nonWord;
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.DOTALL);
  set.add(`[^${word}]`);
  set.compile();
  const [ranges = []] = (set.prog.inst as { runes: number[] }[])
    .map(({ runes }) => runes)
    .filter((runes) => runes?.length > 2);
  for (let index = 0; index < ranges.length; index += 2)
    nonWord += `\\x{${ranges[index]?.toString(16)}}-\\x{${ranges[index + 1]?.toString(16)}}`;
  return nonWord;
}
