import { endOfMatch, skipWhiteSpace } from '../../json/lenientParser.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../json/value.ts';
import { findMark, looseMark, matchMarkAfterSpace, type LooseMark, type SearchedText } from '../looseMark.ts';
import type { ValuePosition, ValueRead, MalformedValue } from './valueNotation.ts';

/** Where a value stands; it tells what may follow. */
export type LiteralPlace = 'argument' | 'item' | 'key' | 'member';

/** A string in quotes. */
export interface QuotedString {
  readonly value: string;
  /** Index after the closing quote. */
  readonly end: number;
  readonly repaired: boolean;
}

/** What the notations of literals differ in. */
export interface LiteralSyntax {
  /** The string that begins at an index; undefined: no quote stands there; its end is Infinity if it is not closed. */
  string(source: SearchedText, index: number, place: LiteralPlace): QuotedString | undefined;
  /** The mark by which text without quotes ends at the latest. */
  readonly after: LooseMark;
}

/** Deepest nesting of lists and objects. */
const maxLiteralDepth = 64;

const literals: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['True', true],
  ['False', false],
  ['None', null],
]);

const delimiter = /[,\]})\n]/g;
/** UTF-16 units of text without quotes. */
const maxBareLength = 1024;
const bareKey = /[^\s:,[\]{}()"'<>][^\s:,[\]{}()"']*/y;
const numberText = /^([-+]?)(\d[\d_]*)?(?:\.(\d[\d_]*)?)?([eE][-+]?\d+)?$/;

/** Reads a literal with the marks around it. Never throws; takes linear time. */
export function readLiteral(
  { source, start, layout }: ValuePosition,
  syntax: LiteralSyntax,
): ValueRead | MalformedValue {
  const index = matchMarkAfterSpace(looseMark(layout.other.open), source.text, start);
  if (index === undefined) return { ok: false, truncated: skipWhiteSpace(source.text, start) === source.text.length };
  const reader = new LiteralReader(source, index, syntax);
  const value = reader.argument();
  if (value === undefined) return { ok: false, truncated: reader.index >= source.text.length };
  const end = matchMarkAfterSpace(looseMark(layout.other.close), source.text, reader.index) ?? reader.index;
  return { ok: true, value, end, repaired: reader.repaired };
}

/**
 * Recursive descent parser of literals: numbers, booleans and null (as in JSON and in Python), strings of a syntax,
 * lists, tuples and objects with quoted or bare keys. Text without quotes is a string (repaired). Never throws.
 */
class LiteralReader {
  readonly #source: SearchedText;
  readonly #syntax: LiteralSyntax;
  /** Index of the next character; after a syntax error, its place. */
  index: number;
  repaired = false;

  constructor(source: SearchedText, index: number, syntax: LiteralSyntax) {
    this.#source = source;
    this.index = index;
    this.#syntax = syntax;
  }

  /** The value of an argument; undefined for a syntax error. */
  argument(): JsonValue | undefined {
    return this.#value('argument', 0);
  }

  #value(place: LiteralPlace, depth: number): JsonValue | undefined {
    const next = this.#peek();
    if (next === '{') return depth < maxLiteralDepth ? this.#members(depth) : undefined;
    if (next === '[') return depth < maxLiteralDepth ? this.#list(']', depth) : undefined;
    if (next === '(') return depth < maxLiteralDepth ? this.#list(')', depth) : undefined;
    const quoted = this.#quoted(place);
    return quoted ? this.#contentOf(quoted) : this.#bare();
  }

  #members(depth: number): JsonObject | undefined {
    const members = new Map<string, JsonValue>();
    this.index++;
    while (!this.#consume('}')) {
      const quoted = this.#quoted('key');
      const key = quoted ? this.#contentOf(quoted) : this.#bareKey();
      if (key === undefined || !this.#consume(':')) return undefined;
      const value = this.#value('member', depth + 1);
      if (value === undefined) return undefined;
      members.set(key, value);
      if (!this.#consume(',') && this.#peek() !== '}') return undefined;
    }
    return members;
  }

  #list(closer: ']' | ')', depth: number): readonly JsonValue[] | undefined {
    const items: JsonValue[] = [];
    this.index++;
    while (!this.#consume(closer)) {
      const item = this.#value('item', depth + 1);
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

  #bareKey(): string | undefined {
    const start = this.index;
    const end = endOfMatch(bareKey, this.#source.text, start);
    this.index = end ?? start;
    return end === undefined ? undefined : this.#source.text.slice(start, end);
  }

  /** A number, a literal, or text without quotes. */
  #bare(): JsonValue | undefined {
    const { text } = this.#source;
    const start = this.index;
    const end = Math.min(this.#nextDelimiter(), findMark(this.#syntax.after, this.#source, start).start, text.length);
    const content = end - start > maxBareLength ? '' : text.slice(start, end).trim();
    if (content === '') return undefined;
    this.index = end;
    const literal = literals.get(content);
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

/** A number as JSON or Python writes it, in the syntax of JSON; undefined: it is none. */
function readNumber(content: string): JsonNumber | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = ''] = numberText.exec(content) ?? [];
  if (whole === '' && fraction === '') return undefined;
  const digits = whole === '' ? '0' : whole.replaceAll('_', '');
  if (digits.length > 1 && digits.startsWith('0')) return undefined;
  const decimals = fraction === '' ? '' : `.${fraction.replaceAll('_', '')}`;
  return new JsonNumber(`${sign === '-' ? '-' : ''}${digits}${decimals}${exponent}`);
}
