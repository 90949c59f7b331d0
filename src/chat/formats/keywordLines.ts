import { createReasoningSkipper, type SkipReasoning } from '../reply/reasoning/splitReply.ts';
import type { TextRange } from '../markSearch.ts';
import type { ReplyMarks } from '../replyMarks.ts';

/** A keyword that heads a part of a reply, such as `Action:`, with the Markdown around it; `end` is exclusive. */
export interface Keyword<Name extends string = string> extends TextRange {
  readonly name: Name;
}

/** Whether a keyword counts although text stands before it on its line. */
export type AcceptInline<Name extends string> = (keyword: Keyword<Name>) => boolean;

// Markdown before a keyword, in characters.
const maxMarkdown = 8;

/**
 * Finds the keywords of formats that mark calls by words, where others have tags. A keyword stands at the start of a line,
 * in any case, and models write it as `**Action:**`, `Action 2:` or `Action_Input:`. Those in reasoning do not count.
 */
export class KeywordFinder<Name extends string> {
  readonly #text: string;
  readonly #skipReasoning: SkipReasoning;
  readonly #names: ReadonlyMap<string, Name>;
  readonly #pattern: RegExp;
  /** Index after the reasoning at the start of the text. */
  readonly start: number;

  constructor(names: readonly Name[], text: string, marks?: ReplyMarks) {
    this.#text = text;
    this.#skipReasoning = createReasoningSkipper(text, marks);
    this.start = this.#skipReasoning(text.search(/\S|$/));
    this.#names = new Map(names.map((name) => [toKey(name), name]));
    const words = names.toSorted((a, b) => b.length - a.length).map((name) => name.replaceAll(' ', '[ _]?'));
    this.#pattern = new RegExp(`(?<![A-Za-z0-9\`])(${words.join('|')})(?: ?\\d{1,2})?[*_]{0,3} ?:[*_]{0,3}`, 'gi');
  }

  /** The first keyword at or after an index. */
  next(from: number, acceptInline: AcceptInline<Name> = () => false): Keyword<Name> | undefined {
    const pattern = this.#pattern;
    pattern.lastIndex = from;
    for (let match = pattern.exec(this.#text); match; match = pattern.exec(this.#text)) {
      const { index } = match;
      const end = pattern.lastIndex;
      const outside = this.#skipReasoning(index);
      const name = this.#names.get(toKey(match[1] ?? ''));
      const start = this.#lineStart(index, from);
      if (outside > index) pattern.lastIndex = outside;
      else if (name === undefined) continue;
      else if (start !== undefined) return { name, start, end };
      else if (acceptInline({ name, start: index, end })) return { name, start: index, end };
    }
    return undefined;
  }

  /** Start of the line of a keyword, Markdown included; undefined: other text stands before it. */
  #lineStart(index: number, from: number): number | undefined {
    let start = index;
    while (start > from && index - start < maxMarkdown && ' \t*#_-'.includes(this.#text[start - 1] ?? '')) start--;
    // A control token or a mark of reasoning may end directly before it.
    const isFirst = start <= this.start || /[\n>\]]/.test(this.#text[start - 1] ?? '');
    return isFirst ? start : undefined;
  }
}

const toKey = (word: string): string => word.toLowerCase().replaceAll(/[ _]/g, '');

const minCutOff = 4;

/** The last line of a text, if it is nothing but the beginning of a keyword; "": it is something else. */
export function cutOffKeyword(text: string, keyword: string): string {
  const line = text.slice(text.lastIndexOf('\n') + 1);
  if (line.length > keyword.length + maxMarkdown) return '';
  const word = wordAt(line);
  return word.length >= minCutOff && keyword.startsWith(word) ? line : '';
}

/** Whether a text is nothing but the beginning of a keyword, perhaps with Markdown before it; or blank. */
export const isBeginning = (text: string, keyword: string): boolean => keyword.startsWith(wordAt(text));

/** The beginning of a text without Markdown, in lower case. */
const wordAt = (text: string): string =>
  text
    .slice(0, 64)
    .toLowerCase()
    .replace(/^[\s*#_-]+/, '');
