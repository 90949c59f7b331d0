import { memoizedByKey } from '../../base/memoized.ts';
import { skipWhiteSpace } from '../json/lenientParser.ts';
import type { TextRange } from '../markSearch.ts';

/** A literal as a reader takes it: with any white space, or none, where it has some or tags meet; none at its ends. */
export interface LooseMark {
  /** White space that the literal begins with. */
  readonly leading: string;
  /** White space that the literal ends with. */
  readonly trailing: string;
  /** What has to stand there, with free white space in between; empty where the literal is only white space. */
  readonly pieces: readonly string[];
}

export const looseMark = memoizedByKey(
  (literal: string) => literal,
  (literal): LooseMark => {
    const pieces = literal.split(/\s+|(?<=>)(?=<)/).filter((piece) => piece !== '');
    const [leading = ''] = /^\s*/.exec(literal) ?? [];
    return { leading, trailing: pieces.length === 0 ? '' : literal.slice(literal.trimEnd().length), pieces };
  },
);

/** Index after a mark that stands at an index; undefined: it does not. */
export function matchMark({ pieces }: LooseMark, text: string, index: number): number | undefined {
  let end = index;
  for (const [position, piece] of pieces.entries()) {
    const start = position === 0 ? end : skipWhiteSpace(text, end);
    if (!text.startsWith(piece, start)) return undefined;
    end = start + piece.length;
  }
  return end;
}

/** Index after a mark that stands at an index or after white space there; undefined: it does not. */
export const matchMarkAfterSpace = (mark: LooseMark, text: string, index: number): number | undefined =>
  matchMark(mark, text, skipWhiteSpace(text, index));

/** The first occurrence of a mark at or after an index; Infinity where there is none, as of a mark that is only white space. */
export function findMark(mark: LooseMark, source: SearchedText, from: number): TextRange {
  const [first] = mark.pieces;
  if (first === undefined) return noMatch;
  const { text } = source;
  const start =
    mark.pieces.length === 1
      ? source.indexOf(first, from)
      : source.find(mark.pieces.join('\0'), from, () => indexOfMark(mark, text, from));
  return start === Infinity ? noMatch : { start, end: matchMark(mark, text, start) ?? start };
}

/** Index of the first occurrence of a mark at or after an index; Infinity: none. */
export function indexOfMark(mark: LooseMark, text: string, from = 0): number {
  const [first = ''] = mark.pieces;
  let index = text.indexOf(first, from);
  while (index >= 0 && matchMark(mark, text, index) === undefined) index = text.indexOf(first, index + 1);
  return index < 0 ? Infinity : index;
}

const noMatch: TextRange = { start: Infinity, end: Infinity };

/** Whether a text ends within a mark that begins at an index, after its first character. */
export function endsWithinMark({ pieces }: LooseMark, text: string, index: number): boolean {
  if (text.length === index || text.length - index > maxMarkLength) return false;
  const rest = text.slice(index).replaceAll(/\s+/g, '');
  return rest !== '' && pieces.join('').startsWith(rest);
}

const maxMarkLength = 256;

/** A text with its last searches: repeated from increasing positions, they take linear time in all. */
export class SearchedText {
  readonly text: string;
  readonly #searches = new Map<string, { readonly from: number; readonly index: number }>();

  constructor(text: string) {
    this.text = text;
  }

  /** Index of the first occurrence of a literal at or after an index; Infinity: none. */
  indexOf(literal: string, from: number): number {
    return this.find(literal, from, () => {
      const index = this.text.indexOf(literal, from);
      return index < 0 ? Infinity : index;
    });
  }

  /** The first index from `from` on that `search` finds, else Infinity; kept by `key`, text and `from`. */
  find(key: string, from: number, search: () => number): number {
    const known = this.#searches.get(key);
    if (known && known.from <= from && from <= known.index) return known.index;
    const index = search();
    this.#searches.set(key, { from, index });
    return index;
  }
}
