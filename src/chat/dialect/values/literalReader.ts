import { endOfMatch, lenientLiterals, skipWhiteSpace } from '../../json/lenientParser.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../json/value.ts';
import type { SearchedText } from '../../markSearch.ts';
import { findMark, matchMarkAfterSpace } from '../looseMark.ts';
import type { ValuePosition, ValueRead, MalformedValue } from './valueNotation.ts';

/** Where a value stands; it tells what may follow. */
export type LiteralPlace = 'argument' | 'item' | 'key' | 'member';

export interface QuotedString {
  /** undefined: it is no literal, for something is put into it. */
  readonly value: string | undefined;
  readonly end: number;
  readonly repaired: boolean;
}

/** What the notations of literals differ in. */
export interface LiteralSyntax {
  /** The string that begins at an index; undefined: no quote stands there; its end is Infinity if it is not closed. */
  string(source: SearchedText, index: number, place: LiteralPlace): QuotedString | undefined;
  /** Whether it has what only Python has: sets, `dict(a=1)`, and strings that are put together. */
  readonly isPython?: true;
}

/** Deepest nesting of lists and objects. */
const maxLiteralDepth = 64;
const delimiter = /[,\]})\n]/g;
/** UTF-16 units of text without quotes. */
const maxBareLength = 1024;
const bareKey = /[^\s:,[\]{}()"'<>][^\s:,[\]{}()"']*/y;
const keyword = /[A-Za-z_]\w*/y;
const constructor = /[A-Za-z_][\w.]{0,64}\(/y;
// Between strings of Python that are one.
const joint = /(?:\s{0,64}\+\s{0,64}|\s{1,64})(?=[rRbBfFuU]{0,2}["'])/y;
const numberText = /^([-+]?)(\d[\d_]*)?(?:\.(\d[\d_]*)?)?([eE][-+]?\d+)?$/;

/** Reads a literal with the marks around it. Never throws; takes linear time. */
export function readLiteral(position: ValuePosition, syntax: LiteralSyntax): ValueRead | MalformedValue {
  const { source, start, layout } = position;
  const index = matchMarkAfterSpace(layout.other.open, source.text, start);
  if (index === undefined) return { ok: false, truncated: skipWhiteSpace(source.text, start) === source.text.length };
  const reader = new LiteralReader(position, index, syntax);
  const value = reader.value('argument', 0);
  if (value === undefined) return { ok: false, truncated: reader.index >= source.text.length };
  const end = matchMarkAfterSpace(layout.other.close, source.text, reader.index) ?? reader.index;
  return { ok: true, value, end, repaired: reader.repaired };
}

/** Parses literals of JSON and Python, nested, with bare keys. Text without quotes is a string. Never throws. */
class LiteralReader {
  readonly #source: SearchedText;
  readonly #syntax: LiteralSyntax;
  /** The mark by which text without quotes ends at the latest. */
  readonly #after: string;
  /** Index of the next character; after a syntax error, its place. */
  index: number;
  repaired = false;

  constructor({ source, after }: ValuePosition, index: number, syntax: LiteralSyntax) {
    this.#source = source;
    this.#after = after;
    this.index = index;
    this.#syntax = syntax;
  }

  /** The value at the index; undefined for a syntax error. */
  value(place: LiteralPlace, depth: number): JsonValue | undefined {
    const next = this.#peek();
    if (next === '{') return depth < maxLiteralDepth ? this.#braces(depth) : undefined;
    if (next === '[' || next === '(') {
      if (depth >= maxLiteralDepth) return undefined;
      this.index++;
      return this.#list(next === '[' ? ']' : ')', depth);
    }
    const quoted = this.#quoted(place);
    if (quoted) return this.#joined(quoted, place);
    const isCall = this.#syntax.isPython && endOfMatch(constructor, this.#source.text, this.index) !== undefined;
    return isCall ? this.#constructed(depth) : this.#bare();
  }

  #joined(first: QuotedString, place: LiteralPlace): string | undefined {
    let content = this.#contentOf(first);
    if (!this.#syntax.isPython || place === 'key') return content;
    while (content !== undefined) {
      const end = endOfMatch(joint, this.#source.text, this.index);
      if (end === undefined) return content;
      this.index = end;
      const next = this.#quoted(place);
      const more = next && this.#contentOf(next);
      content = more === undefined ? undefined : content + more;
    }
    return content;
  }

  /** What `dict(…)`, `set(…)`, `list(…)` or `tuple(…)` gives; undefined for every other call. */
  #constructed(depth: number): JsonValue | undefined {
    const end = endOfMatch(constructor, this.#source.text, this.index) ?? this.index;
    const name = this.#source.text.slice(this.index, end - 1);
    if (depth >= maxLiteralDepth || !/^(?:dict|(?:frozen)?set|list|tuple)$/.test(name)) return undefined;
    this.index = end;
    if (name === 'dict') return this.#members(depth, ')');
    const items = this.#peek() === ')' ? [] : this.value('item', depth + 1);
    return Array.isArray(items) && this.#consume(')') ? items : undefined;
  }

  #braces(depth: number): JsonValue | undefined {
    this.index++;
    return this.#syntax.isPython && this.#isSet() ? this.#list('}', depth) : this.#members(depth);
  }

  #isSet(): boolean {
    const { text } = this.#source;
    const start = skipWhiteSpace(text, this.index);
    const [item, key] = [this.#quoted('member'), this.#quoted('key')];
    if (item && key && item.end < key.end) return true;
    const end = key ? key.end : (endOfMatch(bareKey, text, start) ?? start);
    const next = text[skipWhiteSpace(text, end)] ?? ':';
    return next !== ':' && !(next === '}' && end === start);
  }

  #members(depth: number, closer: '}' | ')' = '}'): JsonObject | undefined {
    const [separator, keyPattern] = closer === ')' ? (['=', keyword] as const) : ([':', bareKey] as const);
    const members = new Map<string, JsonValue>();
    while (!this.#consume(closer)) {
      const quoted = this.#quoted('key');
      const key = quoted ? this.#contentOf(quoted) : this.#bareKey(keyPattern);
      if (key === undefined || !this.#consume(separator)) return undefined;
      const value = this.value(closer === ')' ? 'argument' : 'member', depth + 1);
      if (value === undefined) return undefined;
      members.set(key, value);
      if (!this.#consume(',') && this.#peek() !== closer) return undefined;
    }
    return members;
  }

  #list(closer: ']' | ')' | '}', depth: number): readonly JsonValue[] | undefined {
    const items: JsonValue[] = [];
    while (!this.#consume(closer)) {
      const item = this.value(closer === '}' ? 'member' : 'item', depth + 1);
      if (item === undefined) return undefined;
      items.push(item);
      if (!this.#consume(',') && this.#peek() !== closer) return undefined;
    }
    return items;
  }

  #quoted(place: LiteralPlace): QuotedString | undefined {
    this.#peek();
    return this.#syntax.string(this.#source, this.index, place);
  }

  #contentOf({ value, end, repaired }: QuotedString): string | undefined {
    if (repaired) this.repaired = true;
    this.index = Math.min(end, this.#source.text.length);
    return end === Infinity ? undefined : value;
  }

  #bareKey(pattern: RegExp): string | undefined {
    const start = this.index;
    const end = endOfMatch(pattern, this.#source.text, start);
    this.index = end ?? start;
    return end === undefined ? undefined : this.#source.text.slice(start, end);
  }

  #bare(): JsonValue | undefined {
    const { text } = this.#source;
    const start = this.index;
    const end = Math.min(this.#nextDelimiter(), findMark(this.#after, this.#source, start).start, text.length);
    const content = end - start > maxBareLength ? '' : text.slice(start, end).trim();
    if (content === '' || (this.#syntax.isPython && isExpression(content))) return undefined;
    this.index = end;
    const literal = lenientLiterals.get(content);
    if (literal !== undefined) return literal;
    const number = readNumber(content);
    if (!number) this.repaired = true;
    return number ?? content;
  }

  #nextDelimiter(): number {
    return this.#source.find('\0delimiter', this.index, () => {
      delimiter.lastIndex = this.index;
      return delimiter.exec(this.#source.text)?.index ?? Infinity;
    });
  }

  #consume(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.index++;
    return true;
  }

  #peek(): string | undefined {
    this.index = skipWhiteSpace(this.#source.text, this.index);
    return this.#source.text[this.index];
  }
}

function isExpression(content: string): boolean {
  const words = content.split(/\s+/);
  const hasAll = (...names: readonly string[]): boolean => names.every((name) => words.includes(name));
  return /[([{*]/.test(content) || words[0] === 'lambda' || hasAll('for', 'in') || hasAll('if', 'else');
}

/** A number as JSON or Python writes it, in the syntax of JSON; undefined: it is none. */
function readNumber(content: string): JsonNumber | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = ''] = numberText.exec(content) ?? [];
  if (whole === '' && fraction === '') return undefined;
  const digits = whole === '' ? '0' : whole.replaceAll('_', '');
  if (digits.length > 1 && digits.startsWith('0')) return undefined;
  const decimals = fraction === '' ? '' : `.${fraction.replaceAll('_', '')}`;
  return new JsonNumber(`${sign === '-' ? '-' : ''}${digits}${decimals}${exponent}`);
}
