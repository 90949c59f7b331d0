import { anyOfTexts } from '../../base/patterns.ts';
import { endOfMatch, parseJsonAt } from '../json/lenientParser.ts';
import type { JsonValue } from '../json/value.ts';
import { skipInlineCode, skipOpeningFence } from '../markdownCode.ts';
import type { SkipReasoning } from './reasoning/splitReply.ts';
import type { TextRange } from '../markSearch.ts';
import type { CallMarkup } from '../tool.ts';
import { isSimilar, type MarkFinder, markFinder, type MarkKind } from './markFinder.ts';
import { metadataKeys, nameKeys, whyNoCall, wrapperKeys } from './whyNoCall.ts';

/**
 * What a part of a text may be to a call:
 *
 * | kind                       | part                                                                              |
 * | -------------------------- | --------------------------------------------------------------------------------- |
 * | `opens`, `closes`, `inner` | a mark of a call                                                                  |
 * | `broken`, `foreign`        | a mark with a mistake in it, or one of another model                              |
 * | `cutOff`                   | the beginning of a mark that the text ends in                                     |
 * | `read`                     | a call that was read                                                              |
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
  | (MarkKind | 'broken' | 'foreign' | 'cutOff' | 'read' | 'call' | 'data' | 'key' | 'name' | 'word')
  | ('opener' | 'closer' | 'string' | 'sign' | 'code');

/** A part of a text; `end` is exclusive. */
export interface Token extends TextRange {
  readonly kind: TokenKind;
  readonly text: string;
  /** The text between the token before and this one. */
  readonly gap: string;
  readonly at: number;
  /** The bracket or the closing mark that belongs to it; undefined: there is none. */
  pair?: Token | undefined;
  /** The bracket around it; undefined: there is none. */
  readonly parent?: Token | undefined;
  /** Of an opening bracket, whether it is one of JSON. */
  readonly isJson?: boolean;
}

/** What marks around calls have in them, in whatever family. */
export const callWord = /tool|call|func|python_|action/i;

/** Marks of families whose calls are bare JSON here: `<tools>`, `[TOOL_REQUEST]`, `<|python_start|>`, `functools`, `Tool call:`. */
const isForeign = (tag: string): boolean =>
  /^(?:<.*>|&.*;|\[.*\]|[\w*][^\]]*|<tool_call|<\|im_start.*)$/.test(tag) &&
  (callWord.test(tag) || /assistant|im_start|^json$/.test(tag)) &&
  !/^<\/?tool_call>$/.test(tag);

export interface TokenOptions {
  readonly toolNames: ReadonlySet<string>;
  /** Whether JSON without a mark, or with one of another model, may be a call. */
  readonly isBareSearched: boolean;
  /** What is left out of the text. */
  readonly skip?: SkipReasoning;
  /** The calls that were read, in order. */
  readonly read?: readonly TextRange[];
  /** Index before which nothing is taken out; default 0. */
  readonly from?: number;
  /** Index of a mark from which on all belongs to a call that is cut off. */
  readonly cutOffAt?: number;
}

const noMatch = '^(?!)';

/** The names of tools, perhaps with a prefix such as `functions.`. */
const namePattern = (toolNames: ReadonlySet<string>): string =>
  toolNames.size === 0 ? noMatch : `(?<![\\w-])(?:[A-Za-z_]{1,16}[.:])?(?:${anyOfTexts(toolNames)})`;

function keyPattern(toolNames: ReadonlySet<string>): string {
  const named = `["'“]?(?:name|tool|function)["'”]?\\s{0,8}[:=]\\s{0,8}["'“]?(?:${anyOfTexts(toolNames)})(?!\\w)["'”]?`;
  const given = `["'“][A-Za-z_]{3,16}["'”]\\s{0,8}:\\s{0,8}(?=\\{)`;
  return toolNames.size === 0 ? given : `${named}|${given}`;
}

const brokenMark =
  '(?<![\\w-])[/|]{0,2}[A-Za-z_]{3,24}\\|?[>\\]]|[<[][/|]{0,2}(?:"|[A-Za-z_]{1,24})\\|?[>\\]]?|&lt;/?\\w{1,24}&gt;';
const label =
  '\\bfunctools(?=\\[)|\\bTOOL_CALLS(?=\\s{0,8}\\[)|\\*{0,2}\\b(?:(?:[Tt]ool|[Ff]unction)[ _][Cc]alls?|Action)\\*{0,2}\\s{0,2}:\\*{0,2}|(?<![\\w`])json(?=\\s{0,8}\\n\\s{0,8}[[{])|</?(?:tool|function)[ -]calls?>|<\\|im_start\\|>\\w{0,16}';
const jsonBegin =
  '\\{\\s*(?:["\'“}]|[A-Za-z_]{1,32}["\']?\\s*:|\\{\\s*["\'{])|\\[\\s*(?:\\{\\s*(?:["\'“}A-Za-z_]|$)|["\'\\]])';
const jsonStart = new RegExp(`${jsonBegin}|[[{]\\s*$`, 'y');
const callKey =
  '["\'“](?:name|tool|function|arguments|parameters|args|input|tool_calls?|function_call)["\'”]?\\s{0,8}:';
// Up to the closing quote, or to the line feed or the end of the text before it.
const stringContent = /[^"\\\n]*(?:\\(?:[^]|$)[^"\\\n]*)*/y;
const afterString = /[ \t]{0,40}(?:[,:;}\])>=<[\r\n]|$)/y;
const jsonLine = /[ \t]{0,40}(?:["'“”{}[\](),:<\d\r\n-]|true|false|null|True|False|None|$)/y;

/** Where a call without a mark may start: at the name of a tool before a bracket, at JSON, or at a key. */
export const callStartPattern = (toolNames: ReadonlySet<string>): RegExp =>
  new RegExp(`${namePattern(toolNames)}\\s{0,8}(?:\\[ARGS\\]|[({])|${jsonBegin}|${callKey}\\s{0,8}["'“{[\\w]`);

const isArgumentKey = (written: string): boolean => {
  const key = /[A-Za-z_]+/.exec(written)?.[0] ?? '';
  return key === 'args' || isSimilar(key, 'arguments') || isSimilar(key, 'parameters');
};

/** The tokens of a text, in order. Takes time linear in the text. */
export const tokensOf = (text: string, markup: CallMarkup, options: TokenOptions): readonly Token[] =>
  new Tokenizer(text, markFinder(markup), options).read();

const fence = '```';
const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const closerOf = (opener: Token): string => closers[opener.text] ?? fence;

class Tokenizer {
  readonly #text: string;
  readonly #finder: MarkFinder;
  readonly #options: TokenOptions;
  readonly #isBare: boolean;
  readonly #pattern: RegExp;
  readonly #seed: RegExp;
  readonly #tokens: Token[] = [];
  /** The brackets and the marks that are open. */
  readonly #open: Token[] = [];
  #marks: Token[] = [];
  #next = 0;
  /** How many of the calls that were read are tokens already. */
  #reads = 0;

  constructor(text: string, finder: MarkFinder, options: TokenOptions) {
    this.#text = text;
    this.#finder = finder;
    this.#options = options;
    const { toolNames, isBareSearched } = options;
    this.#isBare = isBareSearched && !options.read;
    const key = this.#isBare ? keyPattern(toolNames) : noMatch;
    const name = isBareSearched ? `${namePattern(toolNames)}(?![\\w-])` : noMatch;
    this.#seed = new RegExp(`${finder.source}|${key}`);
    this.#pattern = new RegExp(
      `(\`+)|(${finder.source})|(${key})|(${name})|(${label}|${brokenMark})|[[{(]|([\\]})])|\\n\\s*|[,;]+|["'“”:=>]|<[/|]{0,2}`,
      'g',
    );
  }

  read(): readonly Token[] {
    const text = this.#text;
    const { skip = (index) => index, toolNames } = this.#options;
    for (let match = this.#pattern.exec(text); match || this.#read; match = this.#pattern.exec(text)) {
      const index = match?.index ?? text.length;
      this.#next = Math.max(skip(index), index);
      if (this.#read && this.#read.start <= index) this.#add('read', this.#read.start, this.#read.end);
      else if (this.#next === index && match) {
        this.#next = this.#pattern.lastIndex;
        this.#accept(match, index);
      }
      this.#pattern.lastIndex = this.#next;
    }
    this.#cutOff(this.#finder.cutOffFrom(text) ?? text.length);
    const start = this.#open.find(({ isJson }) => isJson)?.start;
    // The beginning of a call has no name of a tool yet.
    if (start !== undefined && this.#isBare && startsCall(text.slice(start), toolNames))
      this.#add('key', text.length, text.length);
    return this.#tokens;
  }

  get #read(): TextRange | undefined {
    return this.#options.read?.[this.#reads];
  }

  #cutOff(start: number): void {
    for (let last = this.#tokens.at(-1); last && last.end > start; last = this.#tokens.at(-1)) {
      this.#tokens.pop();
      if (last.start < start) this.#add(last.kind, last.start, start);
    }
    if (start < this.#text.length) this.#add('cutOff', start, this.#text.length);
  }

  #accept([found, backticks, mark, key, name, broken, closer]: RegExpExecArray, index: number): void {
    const end = this.#next;
    if (backticks !== undefined) this.#backticks(index, end);
    else if (mark !== undefined) this.#mark(this.#finder.kindOf(mark), index, end);
    else if (key !== undefined && this.#isKey(key, index)) this.#add('key', index, end);
    else if (name !== undefined)
      this.#add(/^\s{0,8}[({]/.test(this.#text.slice(end, end + 9)) ? 'name' : 'word', index, end);
    else if (broken !== undefined && this.#broken(index, end) > index)
      this.#add('broken', index, this.#broken(index, end));
    else if (this.#options.isBareSearched && isForeign(broken ?? '')) this.#add('foreign', index, end);
    else if (closer !== undefined) this.#close(closer, index, end);
    else if (found.startsWith('"')) this.#quote(index);
    else if (/^[[{(]/.test(found)) this.#bracket(index);
    else if (/^[<'“]/.test(found)) this.#sign(index, index + (/^<[/|]{0,2}/.exec(found)?.[0].length ?? 1));
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

  #add(kind: TokenKind, start: number, tokenEnd: number, isJson = false): Token {
    const end = kind === 'read' ? tokenEnd : Math.min(tokenEnd, this.#read?.start ?? tokenEnd);
    const [at, gap] = [this.#tokens.length, this.#text.slice(this.#tokens.at(-1)?.end ?? 0, start)];
    const text = this.#text.slice(start, end);
    const token: Token = { kind, start, end, at, text, gap, isJson, parent: this.#open.at(-1) };
    this.#tokens.push(token);
    this.#reads += Number(kind === 'read');
    this.#next = end;
    return token;
  }

  #mark(kind: MarkKind, start: number, end: number): void {
    const mark = this.#add(kind, start, end);
    if (kind === 'closes') for (const opening of this.#marks) opening.pair = mark;
    if (kind === 'inner') this.#marks.push(mark);
    else this.#marks = kind === 'opens' ? [mark] : [];
  }

  /** Code is one token; the fences around a block of it are brackets. */
  #backticks(index: number, end: number): void {
    if (end - index < 3) {
      const codeEnd = this.#isInJson ? end : skipInlineCode(this.#text, index);
      this.#add(codeEnd > end ? 'code' : 'sign', index, codeEnd);
    } else if (this.#opener(fence)) this.#close(fence, index, end);
    else this.#open.push(this.#add('opener', index, this.#seedStart(end, skipOpeningFence(this.#text, index))));
  }

  #isKey(key: string, index: number): boolean {
    if (key.endsWith(' ') || key.endsWith(':')) return isArgumentKey(key);
    return /["'“”]/.test(key) || this.#isInJson || /[<[{|]/.test(this.#text[index - 1] ?? '');
  }

  #bracket(index: number): void {
    const text = this.#text;
    const isJson = this.#isInJson || endOfMatch(jsonStart, text, index) !== undefined;
    const parsed = isJson && text[index] !== '(' ? parseJsonAt(text, index, { lenient: true }) : undefined;
    if (parsed?.ok && parsed.end <= (this.#read?.start ?? parsed.end)) {
      const content = text.slice(index, parsed.end);
      // Where only marks are looked for, a text of JSON hides none but in a call.
      const isHidden = this.#options.from === undefined || this.#marks.length > 0 || !this.#finder.first(content, 0);
      const kind = this.#isCall(parsed.value, content) ? 'call' : 'data';
      if (isHidden && this.#add(kind, index, parsed.end)) return;
    }
    this.#open.push(this.#add('opener', index, index + 1, isJson));
  }

  #isCall(value: JsonValue, content: string): boolean {
    if (this.#isBare && whyNoCall(value, this.#options.toolNames) !== undefined) return true;
    // A mark in a key, in a word, or in the JSON of a call is a mistake; else it is a part of a text.
    const isMistake = this.#isInJson || callMember.test(content);
    for (let mark = this.#finder.first(content, 0); mark; mark = this.#finder.first(content, mark.end)) {
      const isInWord = /[\w}]/.test(content[mark.start - 1] ?? '') || /\w/.test(content[mark.end] ?? '');
      if (isMistake || isInWord || endOfMatch(restOfKey, content, mark.end) !== undefined) return true;
    }
    return false;
  }

  #close(closer: string, index: number, end: number): void {
    const opener = this.#opener(closer);
    if (opener) this.#open.length = this.#open.lastIndexOf(opener);
    const token = this.#add('closer', index, end);
    token.pair = opener;
    if (opener) opener.pair = token;
  }

  #opener(closer: string): Token | undefined {
    return this.#open.slice(-maxDepth).findLast((opener) => closerOf(opener) === closer);
  }

  #quote(index: number): void {
    const end = this.#opensString(index) ? this.#stringEnd(index) : undefined;
    this.#add(end === undefined ? 'sign' : 'string', index, end ?? index + 1);
  }

  #opensString(index: number): boolean {
    const last = this.#tokens.at(-1);
    if (!last || this.#text.slice(last.end, index).trim() !== '') return false;
    if (this.#text[last.end - 1] === '\n') return this.#isInJson;
    return last.kind === 'opener' || /[,:=]$/.test(last.text.trimEnd());
  }

  /** Index after the string of JSON that a quote opens; undefined: it opens none, or one with a part of a call in it. */
  #stringEnd(quote: number): number | undefined {
    const text = this.#text;
    const closing = endOfMatch(stringContent, text, quote + 1) ?? text.length;
    const isClosed = text[closing] === '"';
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
      while (this.#isInJson) this.#open.pop();
  }
}

// More text than this has a member that tells.
const maxStart = 160;
const firstKeys = [...nameKeys, ...wrapperKeys, ...metadataKeys];

/** Whether a text that is cut off can only be the start of a call. */
function startsCall(text: string, toolNames: ReadonlySet<string>): boolean {
  const call = text.slice(0, maxStart).replaceAll(/\s/g, '').replaceAll("'", '"').replace(/^\[/, '');
  const start = call.replace(/^\{"(?:type|id)":"[\w-]*",/, '{');
  const names = toolNames.size > 0 ? [...toolNames] : [''];
  return firstKeys.some((key) => names.some((name) => `{"${key}":"${name}"`.startsWith(start)));
}

// A mark or a key is not longer than this.
const maxSeed = 200;
// Brackets that are open further outside are not closed any more.
const maxDepth = 64;
const restOfKey = /[^"'\n]{0,64}["']\s*:/y;
const callMember = /["'](?:name|tool|function|arguments|parameters|args)["']\s*:/;
