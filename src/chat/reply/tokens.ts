import { anyOfTexts } from '../../base/patterns.ts';
import { closingQuoteOrLineEnd, endOfMatch, parseJsonAt } from '../json/lenientParser.ts';
import type { JsonValue } from '../json/value.ts';
import { metadataKeys, nameKeys, wrapperKeys } from './detect/callShape.ts';
import { skipInlineCode, skipOpeningFence } from './detect/markdownCode.ts';
import type { SkipReasoning } from './reasoning/splitReply.ts';
import type { TextRange } from './marks.ts';
import { isSimilar, type MarkFinder, type MarkKind } from './markFinder.ts';
import { whyNoCall } from './whyNoCall.ts';

/**
 * What a part of a text may be to a call:
 *
 * | kind                       | part                                                                              |
 * | -------------------------- | --------------------------------------------------------------------------------- |
 * | `opens`, `closes`, `inner` | a mark of a call                                                                  |
 * | `broken`                   | a mark with a mistake in it; `cutOff`: one that the text ends in                  |
 * | `call`, `data`             | well-formed JSON that looks like a call, and other JSON                           |
 * | `key`                      | in other text: the key of a call with the name of a tool, or before its arguments |
 * | `name`, `word`             | the name of a tool before a bracket; a name elsewhere                             |
 * | `opener`, `closer`         | a bracket                                                                         |
 * | `string`, `sign`           | a string of JSON; punctuation of JSON, or a line break                            |
 * | `code`                     | Markdown code: it is a quotation                                                  |
 *
 * Only other words stand between tokens.
 */
export type TokenKind =
  | MarkKind
  | (
      'broken' | 'cutOff' | 'call' | 'data' | 'key' | 'name' | 'word' | 'opener' | 'closer' | 'string' | 'sign' | 'code'
    );

/** A part of a text; `end` is exclusive. */
export interface Token extends TextRange {
  readonly kind: TokenKind;
  /** Of a bracket, the index of the token of the other one; undefined: there is none. */
  pair?: number;
  /** Of an opening bracket, whether it is one of JSON. */
  readonly isJson?: boolean;
  /** Index of the token of the bracket around it; undefined: there is none. */
  readonly parent: number | undefined;
}

/** What is known of a text. */
export interface TokenOptions {
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
  /** What is left out of the text. */
  readonly skip?: SkipReasoning;
}

const keyNames = 'name|tool|function';
const never = '(?!)';

/** The names of tools, perhaps with a prefix such as `functions.`. */
export const namePattern = (toolNames: ReadonlySet<string>): string =>
  toolNames.size === 0 ? never : `(?<![\\w-])(?:[A-Za-z_]{1,16}[.:])?(?:${anyOfTexts(toolNames)})`;

/** The key of a call with the name of a tool, and a key before an object. */
function keyPattern(toolNames: ReadonlySet<string>): string {
  const named = `["'“]?(?:${keyNames})["'”]?\\s{0,8}[:=]\\s{0,8}["'“]?(?:${anyOfTexts(toolNames)})(?!\\w)["'”]?`;
  const given = `["'“][A-Za-z_]{3,16}["'”]\\s{0,8}:\\s{0,8}(?=\\{)`;
  return toolNames.size === 0 ? given : `${named}|${given}`;
}

const brokenMark = '(?<![\\w-])[/|]{0,2}[A-Za-z_]{3,24}\\|?[>\\]]|[<[][/|]{0,2}(?:"|[A-Za-z_]{1,24})\\|?[>\\]]?';
const jsonStart =
  /\{\s*(?:["'“}]|$|[A-Za-z_]{1,32}["']?\s*:|\{\s*["'{])|\[\s*(?:\{\s*(?:["'“}]|$|[A-Za-z_])|["'\]]|$)/y;
/** What follows a string of JSON. */
const afterString = /[ \t]{0,40}(?:[,:;}\])>=<[\r\n]|$)/y;
/** What begins a line of JSON. */
const jsonLine = /[ \t]{0,40}(?:["'“”{}[\](),:<\d\r\n-]|true|false|null|True|False|None|$)/y;

/** Whether JSON starts at a bracket in a text that is no JSON. */
export const isJsonStart = (text: string, index: number): boolean => endOfMatch(jsonStart, text, index) !== undefined;

const keyOfCall =
  /["'“](?:name|tool|function|arguments|parameters|args|input|tool_calls?|function_call)["'”]?\s{0,8}:\s{0,8}["'“{[\w]/y;

/** Where a call without a mark may start: at the name of a tool before a bracket, at a bracket, or at a key. */
export const callStartPattern = (toolNames: ReadonlySet<string>): RegExp =>
  new RegExp(`${namePattern(toolNames)}\\s{0,8}(?:\\[ARGS\\]|[({])|[[{"'“]`, 'g');

/** Whether a call may start at what the pattern has found. */
export const isCallStart = (text: string, index: number): boolean => {
  if (/["'“]/.test(text[index] ?? '')) return endOfMatch(keyOfCall, text, index) !== undefined;
  return !'[{'.includes(text[index] ?? '') || (isJsonStart(text, index) && /\S/.test(text.slice(index + 1)));
};

/** Whether the key of a call stands before an object. */
export const isArgumentKey = (written: string): boolean => {
  const key = /[A-Za-z_]+/.exec(written)?.[0] ?? '';
  return key === 'args' || isSimilar(key, 'arguments') || isSimilar(key, 'parameters');
};

/** The tokens of a text, in order. Takes time linear in the text. */
export const tokensOf = (text: string, finder: MarkFinder, options: TokenOptions): readonly Token[] =>
  new Tokenizer(text, finder, options).read();

/** A bracket that is open: the index of its token, and whether it is one of JSON. */
interface OpenBracket {
  readonly at: number;
  readonly closer: string;
  readonly isJson: boolean;
}

const fence = '```';

class Tokenizer {
  readonly #text: string;
  readonly #finder: MarkFinder;
  readonly #options: TokenOptions;
  readonly #pattern: RegExp;
  readonly #seed: RegExp;
  readonly #tokens: Token[] = [];
  #open: OpenBracket[] = [];
  readonly #openByCloser = new Map<string, number>();
  /** Before this index no quote opens a string. Remembered, to stay linear in time. */
  #noStringBefore = 0;
  #next = 0;

  constructor(text: string, finder: MarkFinder, options: TokenOptions) {
    this.#text = text;
    this.#finder = finder;
    this.#options = options;
    const { toolNames, isBareSearched } = options;
    const key = isBareSearched ? keyPattern(toolNames) : never;
    const name = isBareSearched ? `${namePattern(toolNames)}(?![\\w-])` : never;
    this.#seed = new RegExp(`${finder.source}|${key}`);
    this.#pattern = new RegExp(
      `(\`+)|(${finder.source})|(${key})|(${name})|(${brokenMark})|([[{(])|([\\]})])|\\n\\s*|[,;]+|["'“”:=>]|<[/|]{0,2}`,
      'g',
    );
  }

  read(): readonly Token[] {
    const text = this.#text;
    const { skip = (index) => index } = this.#options;
    this.#pattern.lastIndex = 0;
    for (let match = this.#pattern.exec(text); match; match = this.#pattern.exec(text)) {
      const outside = skip(match.index);
      this.#next = outside > match.index ? outside : this.#pattern.lastIndex;
      if (outside === match.index) this.#accept(match);
      this.#pattern.lastIndex = this.#next;
    }
    this.#cutOff(this.#finder.cutOffFrom(text));
    const json = this.#open.find(({ isJson }) => isJson)?.at;
    const start = this.#tokens[json ?? -1]?.start;
    // The beginning of a call has no name of a tool yet.
    if (start !== undefined && this.#options.isBareSearched && startsCall(text.slice(start), this.#options.toolNames))
      this.#tokens.push({ kind: 'key', start: text.length, end: text.length, parent: json, isJson: false });
    return this.#tokens;
  }

  #cutOff(start: number | undefined): void {
    if (start === undefined) return;
    while ((this.#tokens.at(-1)?.end ?? 0) > start) {
      const last = this.#tokens.pop();
      if (last && last.start < start) this.#tokens.push({ ...last, end: start });
    }
    this.#add('cutOff', start, this.#text.length);
  }

  #accept({
    index,
    0: found,
    1: backticks,
    2: mark,
    3: key,
    4: name,
    5: broken,
    6: opener,
    7: closer,
  }: RegExpExecArray): void {
    const end = this.#next;
    if (backticks !== undefined) this.#backticks(index, end);
    else if (mark !== undefined) this.#add(this.#finder.kindOf(mark), index, end);
    else if (key !== undefined && this.#isKey(key)) this.#add('key', index, end);
    else if (name !== undefined)
      this.#add(/^\s{0,8}[({]/.test(this.#text.slice(end, end + 9)) ? 'name' : 'word', index, end);
    else if (broken !== undefined && this.#broken(index, end) > index)
      this.#add('broken', index, this.#broken(index, end));
    else if (closer !== undefined) this.#close(closer, index);
    else if (opener !== undefined || /^[[<"'“]/.test(found)) this.#structure(index);
    else if (broken !== undefined || key !== undefined) this.#next = index + 1;
    else this.#sign(index, end);
  }

  /** End of the mark with a mistake in it that starts at an index; the index itself: none does. */
  #broken(index: number, end: number): number {
    return index + this.#finder.brokenLength(this.#text.slice(index, this.#seedStart(index + 1, end)));
  }

  get #isInJson(): boolean {
    return this.#open.at(-1)?.isJson ?? false;
  }

  #add(kind: TokenKind, start: number, end: number, isJson = false): number {
    const top = this.#open.at(-1);
    this.#next = end;
    return this.#tokens.push({ kind, start, end, isJson, parent: top?.at });
  }

  /** Code is one token; the fences around a block of it are brackets. */
  #backticks(index: number, end: number): void {
    if (end - index < 3) {
      const codeEnd = this.#isInJson ? end : skipInlineCode(this.#text, index);
      this.#add(codeEnd > end ? 'code' : 'sign', index, codeEnd);
    } else if ((this.#openByCloser.get(fence) ?? 0) > 0) this.#close(fence, index, end);
    else this.#push(index, this.#seedStart(end, skipOpeningFence(this.#text, index)), fence, false);
  }

  #isKey(key: string): boolean {
    if (key.endsWith(' ') || key.endsWith(':')) return isArgumentKey(key);
    return /["'“”]/.test(key) || this.#isInJson;
  }

  /** An opening bracket, or a quote. */
  #structure(index: number): void {
    const character = this.#text[index] ?? '';
    if (character === '"') this.#quote(index);
    else if (!'[{('.includes(character))
      this.#sign(index, index + (/^<[/|]{0,2}/.exec(this.#text.slice(index, index + 3))?.[0].length ?? 1));
    else this.#bracket(index, character);
  }

  #bracket(index: number, character: string): void {
    const text = this.#text;
    const isJson = this.#isInJson || isJsonStart(text, index);
    if (isJson && character !== '(') {
      const parsed = parseJsonAt(text, index, { lenient: true });
      if (parsed.ok) {
        this.#add(this.#isCall(parsed.value, text.slice(index, parsed.end)) ? 'call' : 'data', index, parsed.end);
        return;
      }
    }
    this.#push(index, index + 1, character === '[' ? ']' : character === '{' ? '}' : ')', isJson);
  }

  #push(start: number, end: number, closer: string, isJson: boolean): void {
    this.#open.push({ at: this.#add('opener', start, end, isJson) - 1, closer, isJson });
    this.#openByCloser.set(closer, (this.#openByCloser.get(closer) ?? 0) + 1);
  }

  #pop(): OpenBracket | undefined {
    const opener = this.#open.pop();
    if (opener) this.#openByCloser.set(opener.closer, (this.#openByCloser.get(opener.closer) ?? 1) - 1);
    return opener;
  }

  #isCall(value: JsonValue, content: string): boolean {
    const { toolNames, isBareSearched } = this.#options;
    if (isBareSearched && whyNoCall(value, toolNames) !== undefined) return true;
    // A mark in a key, in a word, or in the JSON of a call is a mistake; else it is a part of a text.
    for (let mark = this.#finder.first(content, 0); mark; mark = this.#finder.first(content, mark.end)) {
      const isInWord = /\w/.test((content[mark.start - 1] ?? '') + (content[mark.end] ?? ''));
      if (
        isInWord ||
        this.#isInJson ||
        callMember.test(content) ||
        endOfMatch(restOfKey, content, mark.end) !== undefined
      )
        return true;
    }
    return false;
  }

  #close(closer: string, index: number, end = index + 1): void {
    const count = this.#openByCloser.get(closer) ?? 0;
    let pair: number | undefined;
    // The count spares a search of all brackets for a closer without an opener.
    for (let opener = count > 0 ? this.#pop() : undefined; opener && pair === undefined;)
      if (opener.closer === closer) pair = opener.at;
      else opener = this.#pop();
    const at = this.#add('closer', index, end) - 1;
    const [opening, closing] = [this.#tokens[pair ?? -1], this.#tokens[at]];
    if (!opening || !closing || pair === undefined) return;
    opening.pair = at;
    closing.pair = pair;
  }

  #quote(index: number): void {
    const end = this.#opensString(index) ? this.#stringEnd(index) : undefined;
    this.#add(end === undefined ? 'sign' : 'string', index, end ?? index + 1);
  }

  #opensString(index: number): boolean {
    const last = this.#tokens.at(-1);
    if (!last || this.#text.slice(last.end, index).trim() !== '') return false;
    if (this.#text[last.end - 1] === '\n') return this.#isInJson;
    return last.kind === 'opener' || /[,:=]\s*$/.test(this.#text.slice(last.start, last.end));
  }

  /** Index after the string of JSON that a quote opens; undefined: it opens none, or one with a part of a call in it. */
  #stringEnd(quote: number): number | undefined {
    if (quote < this.#noStringBefore) return undefined;
    const text = this.#text;
    const closing = closingQuoteOrLineEnd(text, quote + 1);
    const isClosed = text[closing] === '"';
    if (!isClosed) this.#noStringBefore = closing;
    const end = isClosed ? closing + 1 : closing;
    const isEnd = isClosed ? endOfMatch(afterString, text, end) !== undefined : closing === text.length;
    return isEnd && this.#seedStart(quote, end) === end ? end : undefined;
  }

  /** Index of the first mark or key that starts in a range; without one, the end of the range. */
  #seedStart(start: number, end: number): number {
    const found = this.#seed.exec(this.#text.slice(start, end + maxSeed));
    return Math.min(end, found ? start + found.index : end);
  }

  #sign(index: number, end: number): void {
    this.#add('sign', index, end);
    // Prose ends JSON that nothing closes.
    if (this.#text[index] === '\n' && this.#isInJson && endOfMatch(jsonLine, this.#text, end) === undefined)
      while (this.#isInJson) this.#pop();
  }
}

// More text than this has a member that tells.
const maxStart = 160;

/** Whether a text that is cut off can only be the start of a call. */
function startsCall(text: string, toolNames: ReadonlySet<string>): boolean {
  if (text.length > maxStart) return false;
  const compact = text.replaceAll(/\s/g, '').replaceAll("'", '"').replace(/^\[/, '');
  const call = compact.replace(/^\{"(?:type|id)":"[\w-]*",/, '{');
  const names = toolNames.size > 0 ? toolNames : [/"([\w.-]*)$/.exec(call)?.[1] ?? ''];
  const starts = nameKeys.flatMap((key) => [...names].map((name) => `{"${key}":"${name}`));
  return [...starts, ...[...wrapperKeys, ...metadataKeys].map((key) => `{"${key}":`)].some((known) =>
    known.startsWith(call),
  );
}

// A mark or a key is not longer than this.
const maxSeed = 200;
const restOfKey = /[^"'\n]{0,64}["']\s*:/y;
const callMember = /["'](?:name|tool|function|arguments|parameters|args)["']\s*:/;
