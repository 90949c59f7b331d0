import { anyOfTexts } from '../../../base/patterns.ts';
import { defaultReplyMarks, type ReplyMarks, tagsOf } from '../../replyMarks.ts';

/** A mark that was found in a text; `end` is exclusive. */
export interface FoundMark {
  readonly mark: string;
  readonly start: number;
  readonly end: number;
}

/** Searches a text that arrives in pieces for the first of several marks. Takes time linear in the text. */
export class MarkSearch {
  readonly #pattern: RegExp | undefined;
  readonly #properPrefixes = new Set<string>();
  /** Length of the longest mark. */
  readonly maxLength: number;

  /** @param marks where one is the beginning of another, the longer one is found. */
  constructor(marks: readonly string[]) {
    for (const mark of marks)
      for (let length = 1; length < mark.length; length++) this.#properPrefixes.add(mark.slice(0, length));
    this.maxLength = Math.max(0, ...marks.map(({ length }) => length));
    const pattern = anyOfTexts(marks.filter((mark) => mark !== ''));
    this.#pattern = pattern === '' ? undefined : new RegExp(pattern, 'g');
  }

  /**
   * The first mark in a text from an index on; without one, the index before which no mark can start any more.
   * @param isComplete whether no text follows: then nothing is held back.
   */
  next(text: string, from: number, isComplete: boolean): FoundMark | number {
    const found = this.#find(text, from);
    const undecided = isComplete ? text.length : this.#undecidedFrom(text, from);
    // A longer mark may still follow from the same place, or from an earlier one.
    return found && found.start < undecided ? found : undecided;
  }

  #find(text: string, from: number): FoundMark | undefined {
    if (!this.#pattern) return undefined;
    this.#pattern.lastIndex = from;
    const match = this.#pattern.exec(text);
    return match ? { mark: match[0], start: match.index, end: match.index + match[0].length } : undefined;
  }

  /** Index of the first end of the text that is the beginning of a mark. */
  #undecidedFrom(text: string, from: number): number {
    for (let index = Math.max(from, text.length - this.maxLength + 1); index < text.length; index++)
      if (this.#properPrefixes.has(text.slice(index))) return index;
    return text.length;
  }
}

/** Escapes the marks of a reply in the text of JSON strings, so that the text has no mark any more. */
export class MarkEscaper {
  readonly #search: MarkSearch;

  constructor(marks: ReplyMarks = defaultReplyMarks) {
    this.#search = new MarkSearch(tagsOf(marks));
  }

  /**
   * A piece of JSON text in which the last character of each mark is escaped (`<think\u003e`), also of a mark that starts
   * in the text before the piece. Within a JSON string the value stays the same.
   * @param accepts whether a text may stand in place of the piece.
   * @returns undefined: there is nothing to escape, or the piece is not in a JSON string.
   */
  escape(before: string, piece: string, accepts: (text: string) => boolean): string | undefined {
    const escaped = this.#replace(before, piece, unicodeEscape);
    if (escaped === piece || !accepts(escaped)) return undefined;
    // Where an invalid escape is text, too, the value is written raw.
    return accepts(this.#replace(before, piece, () => invalidEscape)) ? undefined : escaped;
  }

  /** Replaces the last character of each mark that ends in the piece. */
  #replace(before: string, piece: string, replacement: (character: string) => string): string {
    const lastCharacters = before.slice(Math.max(0, before.length - this.#search.maxLength + 1));
    const text = lastCharacters + piece;
    let replaced = '';
    let done = lastCharacters.length;
    for (let from = 0; ;) {
      const found = this.#search.next(text, from, true);
      if (typeof found === 'number') return replaced + text.slice(done);
      from = found.end;
      if (from <= lastCharacters.length) continue;
      replaced += text.slice(done, from - 1) + replacement(text.slice(from - 1, from));
      done = from;
    }
  }
}

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
const invalidEscape = '\\q';
