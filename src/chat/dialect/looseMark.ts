import { memoizedByKey } from '../../base/memoized.ts';
import { skipWhiteSpace } from '../json/lenientParser.ts';
import type { SearchedText, TextRange } from '../markSearch.ts';

/**
 * What has to stand where a reader takes a literal: with any white space, or none, where the literal has some or tags meet;
 * none at its ends. Empty where the literal is only white space.
 */
const piecesOf = memoizedByKey(
  (literal: string) => literal,
  (literal): readonly string[] => literal.split(/\s+|(?<=>)(?=<)/).filter((piece) => piece !== ''),
);

/** Index after a mark that stands at an index; undefined: it does not. */
export function matchMark(mark: string, text: string, index: number): number | undefined {
  let end = index;
  for (const [position, piece] of piecesOf(mark).entries()) {
    const start = position === 0 ? end : skipWhiteSpace(text, end);
    if (!text.startsWith(piece, start)) return undefined;
    end = start + piece.length;
  }
  return end;
}

/** Index after a mark that stands at an index or after white space there; undefined: it does not. */
export const matchMarkAfterSpace = (mark: string, text: string, index: number): number | undefined =>
  matchMark(mark, text, skipWhiteSpace(text, index));

/** The first occurrence of a mark at or after an index; Infinity where there is none, as of a mark that is only white space. */
export function findMark(mark: string, source: SearchedText, from: number): TextRange {
  const pieces = piecesOf(mark);
  if (pieces.length === 0) return noMatch;
  const start = source.find(pieces.join('\0'), from, () => indexOfMark(mark, source.text, from));
  return start === Infinity ? noMatch : { start, end: matchMark(mark, source.text, start) ?? start };
}

/** Index of the first occurrence of a mark at or after an index; Infinity: none. */
export function indexOfMark(mark: string, text: string, from = 0): number {
  const [first = ''] = piecesOf(mark);
  let index = text.indexOf(first, from);
  while (index >= 0 && matchMark(mark, text, index) === undefined) index = text.indexOf(first, index + 1);
  return index < 0 ? Infinity : index;
}

const noMatch: TextRange = { start: Infinity, end: Infinity };

/** Whether a text ends within a mark that begins at an index, after its first character. */
export function endsWithinMark(mark: string, text: string, index: number): boolean {
  if (text.length === index || text.length - index > maxMarkLength) return false;
  const rest = text.slice(index).replaceAll(/\s+/g, '');
  return rest !== '' && piecesOf(mark).join('').startsWith(rest);
}

const maxMarkLength = 256;
