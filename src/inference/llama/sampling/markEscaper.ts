import { defaultReplyMarks, type ReplyMarks, tagsOf } from '../../../chat/replyMarks.ts';
import { MarkSearch } from '../../../chat/markSearch.ts';

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
    const from = lastCharacters.length;
    const replaced = this.#search.replace(lastCharacters + piece, (mark, start) =>
      start + mark.length <= from ? mark : mark.slice(0, -1) + replacement(mark.slice(-1)),
    );
    return replaced.slice(from);
  }
}

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
const invalidEscape = '\\q';
