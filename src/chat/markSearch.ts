import { escapePattern } from '../base/patterns.ts';

/** A range of a text; `end` is exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface FoundMark extends TextRange {
  readonly mark: string;
}

/** Searches a text, which may arrive in pieces, for marks. Takes time linear in the text. */
export class MarkSearch {
  readonly #pattern: RegExp;
  readonly source: string;
  /** The proper beginnings of the marks. */
  readonly #beginnings = new Set<string>();
  readonly maxLength: number;

  /** @param after a pattern of what belongs to a mark after its text. */
  constructor(marks: Iterable<string>, after: (mark: string) => string = () => '') {
    const all = [...new Set(marks)].filter((mark) => mark !== '').sort((a, b) => b.length - a.length);
    for (const mark of all)
      for (let length = 1; length < mark.length; length++) this.#beginnings.add(mark.slice(0, length));
    this.maxLength = all[0]?.length ?? 0;
    this.source = all.map((mark) => escapePattern(mark) + after(mark)).join('|') || '^(?!)';
    this.#pattern = new RegExp(this.source, 'g');
  }

  /** The first mark in a complete text from an index on. */
  first(text: string, from: number): FoundMark | undefined {
    this.#pattern.lastIndex = from;
    const match = this.#pattern.exec(text);
    return match ? { mark: match[0], start: match.index, end: match.index + match[0].length } : undefined;
  }

  /** The first mark from an index on, or how far there can be none. @param isComplete whether no text follows. */
  next(text: string, from: number, isComplete: boolean): FoundMark | number {
    const found = this.first(text, from);
    const undecided = isComplete ? text.length : this.undecidedFrom(text, from);
    // A longer mark may still follow from the same place, or from an earlier one.
    return found && found.start < undecided ? found : undecided;
  }

  /** Index of the first end of a text that is the beginning of a mark; without one, its length. */
  undecidedFrom(text: string, from = 0): number {
    for (let index = Math.max(from, text.length - this.maxLength + 1); index < text.length; index++)
      if (this.#beginnings.has(text.slice(index))) return index;
    return text.length;
  }

  /** Whether a text is the beginning of a mark, with at least two of its characters. */
  isBeginning(text: string): boolean {
    return text.length > 1 && this.#beginnings.has(text);
  }

  /** A text in which other text stands in place of the marks. */
  replace(text: string, by: (mark: string, start: number) => string): string {
    return text.replaceAll(this.#pattern, by);
  }
}

/** A text without ranges of it: on one line where both sides of a range stood on one, else as lines. */
export function withoutRanges(text: string, ranges: readonly TextRange[]): string {
  if (ranges.length === 0) return text;
  let joined = '';
  let from = 0;
  let isLine = false;
  for (const { start, end } of [...ranges, { start: text.length, end: text.length }]) {
    const piece = text.slice(from, start);
    const trimmed = piece.trim();
    isLine ||= piece.slice(0, piece.length - piece.trimStart().length).includes('\n');
    if (trimmed !== '') {
      joined += (joined === '' ? '' : isLine ? '\n' : ' ') + trimmed;
      isLine = piece.slice(piece.trimEnd().length).includes('\n');
    }
    // White space at the end of a range is a part of the text.
    from = start + text.slice(start, end).trimEnd().length;
  }
  return joined;
}

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
