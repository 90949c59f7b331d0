import { defaultReplyMarks, tagsOf, type ReplyMarks } from '../../replyMarks.ts';
import { MarkSearch } from './markSearch.ts';

/** Escapes the marks of a reply in the text of JSON strings, so that the text has no mark any more. */
export class MarkEscaper {
  readonly #search: MarkSearch;
  readonly #maxLength: number;

  constructor(marks: ReplyMarks = defaultReplyMarks) {
    const tags = tagsOf(marks);
    this.#search = new MarkSearch(tags);
    this.#maxLength = Math.max(0, ...tags.map(({ length }) => length));
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
    const lastCharacters = before.slice(Math.max(0, before.length - this.#maxLength + 1));
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
