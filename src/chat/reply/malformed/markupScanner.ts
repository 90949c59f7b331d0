import type { MarkFinder, MarkItem } from './markFinder.ts';
import { OpenBrackets } from '../brackets.ts';
import { skipWhiteSpace } from '../../json/lenientParser.ts';
import { skipInlineCode } from '../detect/markdownCode.ts';
import { isJsonStart, keyWithoutBraceAt, lacksBrace, type LooseJson, readLooseJson } from './looseJson.ts';

/** A mark of a call, or what looks like JSON. */
export type MarkupItem = MarkItem | LooseJson;

/** The marks and the JSON of a text, in order; what is in Markdown code is left out. Takes time linear in the text. */
export const scanMarkup = (text: string, finder: MarkFinder): readonly MarkupItem[] =>
  new MarkupScanner(text, finder).scan();

/**
 * Scans a text in one pass. A mark in a string is a part of it, if the JSON around the string is well-formed or cut off;
 * else it ends the JSON.
 */
class MarkupScanner {
  readonly #text: string;
  readonly #finder: MarkFinder;
  readonly #items: MarkupItem[] = [];
  readonly #brackets: OpenBrackets;
  /** Start of the first mark in a string of the JSON that is open. */
  #hiddenMark: number | undefined;
  #index = 0;

  constructor(text: string, finder: MarkFinder) {
    this.#text = text;
    this.#finder = finder;
    this.#brackets = new OpenBrackets(text);
  }

  scan(): readonly MarkupItem[] {
    const text = this.#text;
    do {
      for (let next = this.#next(); next !== undefined; next = this.#next())
        if (typeof next === 'number') this.#acceptStructure(next);
        else this.#acceptMark(next);
      // Where a mark in a string ends the JSON, the scan goes on at it.
    } while (this.#brackets.inJson && this.#endJson(text.length));
    return this.#items;
  }

  #next(): MarkItem | number | undefined {
    return this.#finder.structure(this.#text, this.#index);
  }

  #acceptMark(mark: MarkItem): void {
    if (this.#brackets.inJson && this.#endJson(mark.start)) return;
    this.#items.push(mark);
    this.#index = mark.end;
  }

  #acceptStructure(index: number): void {
    const text = this.#text;
    const character = text[index];
    const brackets = this.#brackets;
    this.#index = index + 1;
    if (character === '\n') {
      if (brackets.depth === 1 && lacksBrace(text, brackets.start)) this.#endLineWithoutBrace(index);
    } else if (character === '`') {
      if (!brackets.inJson) this.#index = skipInlineCode(text, index);
    } else if (character === '"') this.#acceptQuote(index);
    else if (character === '{' || character === '[') {
      if (brackets.inJson || isJsonStart(text, index)) brackets.open(index, true);
    } else if (character === '}' || character === ']') {
      const opener = brackets.close(character);
      if (opener && !brackets.inJson) this.#endJson(index + 1, opener.start, true);
    }
  }

  #endLineWithoutBrace(index: number): void {
    this.#index = skipWhiteSpace(this.#text, index);
    if (!'"\'”}]{:,'.includes(this.#text[this.#index] ?? ' ')) this.#endJson(index);
  }

  #acceptQuote(index: number): void {
    if (!this.#brackets.inJson) {
      const key = keyWithoutBraceAt(this.#text, index);
      if (key === undefined) return;
      this.#brackets.open(key, true);
      // A quote that closes the key opens no string.
      if (key < index) return;
    }
    const end = this.#brackets.stringEnd(index);
    if (end === undefined || end === this.#text.length) return;
    const mark = this.#finder.find(this.#text.slice(index, end + this.#finder.maxLength), 0);
    if (mark && index + mark.start < end) this.#hiddenMark ??= index + mark.start;
    this.#index = end + 1;
  }

  /** Ends the JSON that is open. @returns whether the scan goes back to a mark in it. */
  #endJson(end: number, start = this.#brackets.start, isClosed = false): boolean {
    const json = readLooseJson(this.#text, start, end, isClosed);
    const hidden = this.#hiddenMark;
    const isEnded = hidden === undefined || json.value !== undefined || json.cutOffBy === 'the end of the text';
    this.#items.push(isEnded ? json : readLooseJson(this.#text, start, hidden, false));
    this.#brackets.clear(isEnded ? 0 : end);
    this.#index = isEnded ? Math.max(this.#index, json.end) : hidden;
    this.#hiddenMark = undefined;
    return !isEnded;
  }
}
