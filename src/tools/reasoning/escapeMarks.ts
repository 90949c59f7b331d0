import { defaultReplyMarks, tagsOf, type ReplyMarks } from './replyMarks.ts';
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
   */
  escape(before: string, piece: string): string {
    const lastCharacters = before.slice(Math.max(0, before.length - this.#maxLength + 1));
    const text = lastCharacters + piece;
    let escaped = '';
    let done = lastCharacters.length;
    for (let from = 0; ;) {
      const found = this.#search.next(text, from, true);
      if (typeof found === 'number') return escaped + text.slice(done);
      from = found.end;
      if (from <= lastCharacters.length) continue;
      escaped += `${text.slice(done, from - 1)}\\u${text
        .charCodeAt(from - 1)
        .toString(16)
        .padStart(4, '0')}`;
      done = from;
    }
  }
}
