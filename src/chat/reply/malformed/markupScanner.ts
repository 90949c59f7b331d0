import type { MarkFinder, MarkItem } from './markFinder.ts';
import type { ToolNameFinder } from './toolNames.ts';
import { closingQuoteOrLineEnd, skipWhiteSpace } from '../../json/lenientParser.ts';
import { skipInlineCode } from '../detect/markdownCode.ts';
import { isJsonStart, keyWithoutBraceAt, type LooseJson, readLooseJson } from './looseJson.ts';

/** A mark of a call, or what looks like JSON. */
export type MarkupItem = MarkItem | LooseJson;

/** The marks and the JSON of a text, in order; what is in Markdown code is left out. Takes time linear in the text. */
export const scanMarkup = (text: string, finder: MarkFinder): readonly MarkupItem[] =>
  new MarkupScanner(text, finder).scan();

const structurePattern = /[[\]{}"`\n]/g;

/**
 * Scans a text in one pass. A mark in a string is a part of it, if the JSON around the string is well-formed or cut off;
 * else it ends the JSON.
 */
class MarkupScanner {
  readonly #text: string;
  readonly #finder: MarkFinder;
  readonly #items: MarkupItem[] = [];
  /** The closers of the brackets that are open, and how many there are of each. */
  #stack: ('}' | ']')[] = [];
  #jsonStart = 0;
  #lacksBrace = false;
  /** Start of the first mark in a string of the JSON that is open. */
  #hiddenMark: number | undefined;
  #mark: MarkItem | undefined;
  /** Index of the bracket, quote or line feed that was found last; undefined: there is none any more. */
  #structure: number | undefined = -1;
  #index = 0;
  /** Quotes before this index open no string. */
  #noStringBefore = 0;

  constructor(text: string, finder: MarkFinder) {
    this.#text = text;
    this.#finder = finder;
    this.#mark = finder.next(text, 0);
  }

  scan(): readonly MarkupItem[] {
    const text = this.#text;
    do {
      for (;;) {
        const mark = this.#nextMark(this.#index);
        const index = this.#nextStructure();
        if (mark && (index === undefined || mark.start <= index)) this.#acceptMark(mark);
        else if (index === undefined) break;
        else this.#acceptStructure(index);
      }
      // Where a mark in a string ends the JSON, the scan goes on at it.
    } while (this.#inJson && this.#endJson(text.length, false));
    return this.#items;
  }

  get #inJson(): boolean {
    return this.#stack.length > 0;
  }

  #nextMark(from: number): MarkItem | undefined {
    if (this.#mark && this.#mark.start < from) this.#mark = this.#finder.next(this.#text, from);
    return this.#mark;
  }

  /** The next bracket, quote or line feed; found once, as marks may be many. */
  #nextStructure(): number | undefined {
    if (this.#structure !== undefined && this.#structure < this.#index) {
      structurePattern.lastIndex = this.#index;
      this.#structure = structurePattern.exec(this.#text)?.index;
    }
    return this.#structure;
  }

  #acceptMark(mark: MarkItem): void {
    if (this.#inJson && this.#endJson(mark.start, false)) return;
    this.#items.push(mark);
    this.#index = mark.end;
  }

  #acceptStructure(index: number): void {
    const text = this.#text;
    const character = text[index];
    this.#index = index + 1;
    if (character === '\n') {
      if (this.#lacksBrace && this.#stack.length === 1) this.#endLineWithoutBrace(index);
    } else if (character === '`') {
      if (!this.#inJson) this.#index = skipInlineCode(text, index);
    } else if (character === '"') this.#acceptQuote(index);
    else if (character === '{' || character === '[') {
      if (this.#inJson || isJsonStart(text, index)) this.#open(index, character === '{' ? '}' : ']');
    } else if (character === '}' || character === ']') this.#close(index, character);
  }

  #endLineWithoutBrace(index: number): void {
    this.#index = skipWhiteSpace(this.#text, index);
    if (!'"\'”}]{:,'.includes(this.#text[this.#index] ?? ' ')) this.#endJson(index, false);
  }

  #acceptQuote(index: number): void {
    if (!this.#inJson) {
      const key = keyWithoutBraceAt(this.#text, index);
      if (key === undefined) return;
      this.#open(key, '}');
      this.#lacksBrace = true;
      // A quote that closes the key opens no string.
      if (key < index) return;
    }
    if (index < this.#noStringBefore) return;
    const end = closingQuoteOrLineEnd(this.#text, index + 1);
    if (this.#text[end] !== '"') {
      this.#noStringBefore = end;
      return;
    }
    const mark = this.#nextMark(index);
    if (mark && mark.start < end) this.#hiddenMark ??= mark.start;
    this.#index = end + 1;
  }

  #open(index: number, closer: '}' | ']'): void {
    if (!this.#inJson) {
      this.#jsonStart = index;
      this.#lacksBrace = false;
      this.#hiddenMark = undefined;
    }
    this.#stack.push(closer);
    this.#openCount[closer]++;
  }

  readonly #openCount = { '}': 0, ']': 0 };

  #close(index: number, closer: '}' | ']'): void {
    if (this.#openCount[closer] === 0) return;
    for (let popped = this.#stack.pop(); popped !== undefined; popped = this.#stack.pop()) {
      this.#openCount[popped]--;
      if (popped === closer) break;
    }
    if (!this.#inJson) this.#endJson(index + 1, true);
  }

  /** Ends the JSON that is open. @returns whether the scan goes back to a mark in it. */
  #endJson(end: number, isClosed: boolean): boolean {
    this.#stack = [];
    this.#openCount['}'] = this.#openCount[']'] = 0;
    const json = readLooseJson(this.#text, this.#jsonStart, end, isClosed);
    const hidden = this.#hiddenMark;
    if (hidden === undefined || json.value !== undefined || json.cutOffBy === 'the end of the text') {
      this.#items.push(json);
      this.#index = Math.max(this.#index, json.end);
      return false;
    }
    this.#items.push(readLooseJson(this.#text, this.#jsonStart, hidden, false));
    this.#noStringBefore = end;
    this.#index = hidden;
    this.#structure = -1;
    this.#mark = this.#finder.next(this.#text, hidden);
    return true;
  }
}

/** What the search for markup knows. */
export interface MarkupContext {
  readonly finder: MarkFinder;
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  readonly names: ToolNameFinder;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
}
