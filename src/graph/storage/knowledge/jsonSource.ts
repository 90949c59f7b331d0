import { describePointer } from '../../../base/jsonPointer.ts';
import { findDuplicateKeys, locateInJson, readJson } from '../../../base/jsonLocations.ts';
import { isObject, tryParseJson } from '../../../base/jsonTypes.ts';
import { memoized } from '../../../base/memoized.ts';
import type { SchemaError } from '../../../protocol/schema.ts';
import { decodeUtf8 } from '../../../base/filesystem.ts';
import { invalidStorage } from '../invalidStorage.ts';
import type { Fault } from '../../../protocol/fault.ts';

/** The bytes of a JSON file, whose slices are parsed one by one; its faults have file, line and column. */
export class JsonSource {
  readonly #bytes: Uint8Array;
  readonly #name: string;
  readonly #locate = memoized((slice: JsonSlice) => locateInJson(this.#textOf(slice)));

  /** @param name its path in messages. */
  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = bytes;
    this.#name = name;
  }

  /**
   * Slices the document, so that each slice is parsed alone: `JSON.parse` of a whole large file would hold the event loop.
   * The slices themselves are not checked.
   * @param lists members that are sliced into their entries.
   * @param holders members that are objects with such lists.
   * @throws Fault INVALID_STRING_STORAGE_DATA when it is not valid JSON.
   */
  *slices(lists: readonly string[], holders: readonly string[]): Generator<JsonSlice, void> {
    const scanner = new Scanner(this.#bytes, (offset, message) => this.#faultAt(offset, message));
    const first = scanner.peek();
    if (first === '[') yield* sliceList(scanner, '');
    else if (first === '{') yield* sliceObject(scanner, '', { lists, holders });
    // As UTF-16 begins, and no text in UTF-8.
    else if (first >= '\xfe') throw scanner.fault(notUtf8);
    else throw scanner.fault('must be a JSON array or a JSON object');
    if (scanner.peek() !== '') throw scanner.fault('is not valid JSON: the end of the file is expected');
  }

  #faultAt(offset: number, message: string): Fault {
    return invalidStorage(`${this.#name}, ${this.#placeAt(offset).join(':')}: it ${message}`);
  }

  /** Parses a slice. @throws Fault INVALID_STRING_STORAGE_DATA when it is not valid JSON, or has a name twice in one object. */
  parse(slice: JsonSlice): unknown {
    if (slice.end - slice.start > maxSliceBytes) throw this.#faultAt(slice.start, tooLarge(maxSliceBytes));
    const text = this.#textOf(slice);
    const { value, error, cause } = readJson(text);
    if (error)
      throw invalidStorage(
        `${this.#name} is not valid JSON at ${this.#inFile(slice, error.place)}: ${error.why}`,
        cause,
      );
    if (countNames(value) === slice.names) return value;
    const [twice] = findDuplicateKeys(text);
    if (!twice) return value;
    const place = this.#inFile(slice, twice.place);
    throw invalidStorage(`${this.#name}, ${place}: the name "${twice.name}" is there twice in one object; remove one`);
  }

  /** The fault for an error in a slice, whose pointer is relative to it. */
  faultIn(slice: JsonSlice, { pointer = '', message = 'is invalid' }: Partial<SchemaError> = {}): Fault {
    return invalidStorage(`${this.placeOf(slice, pointer)} ${message}`);
  }

  /** File, line and column of a place in a slice, and the path to it. */
  placeOf(slice: JsonSlice, pointer: string): string {
    const place = slice.opensList ? '1:1' : this.#locate(slice).positionOf(pointer);
    return `${this.#name}, ${this.#inFile(slice, place)}: ${subjectOf(slice, pointer)}`;
  }

  #textOf({ start, end }: JsonSlice): string {
    const text = decodeUtf8(this.#bytes.subarray(start, end));
    if (text !== undefined) return text;
    throw this.#faultAt(start, notUtf8);
  }

  /** @param place `line:column` in the slice. */
  #inFile(slice: JsonSlice, place: string): string {
    const [fromLine, fromColumn] = this.#placeAt(slice.start);
    const [line = 1, column = 1] = place.split(':').map(Number);
    return `${fromLine + line - 1}:${line === 1 ? fromColumn + column - 1 : column}`;
  }

  #placeAt(offset: number): readonly [line: number, column: number] {
    let [line, lineStart] = [1, 0];
    for (;;) {
      const end = this.#bytes.indexOf(newline, lineStart);
      if (end < 0 || end >= offset) break;
      line++;
      lineStart = end + 1;
    }
    return [line, new TextDecoder().decode(this.#bytes.subarray(lineStart, offset)).length + 1];
  }
}

const newline = 0x0a;
const notUtf8 = 'is not UTF-8; save the file as UTF-8';

function subjectOf({ member, key }: JsonSlice, pointer: string): string {
  const names = [member, key ?? ''].filter((name) => name !== '').map((name) => `/${name}`);
  return describePointer(names.join('') + pointer).replace(/^\./, '');
}

function countNames(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countNames(item), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + 1 + countNames(item), 0);
}

/** A part of a JSON document: the value of a member of the whole, or one entry of a list. */
export interface JsonSlice {
  /** The path of the member of the whole document; "" = the document is a list. */
  readonly member: string;
  /** Index or name of the entry; undefined: the slice is the value of the member. */
  readonly key: string | undefined;
  /** Whether it is the beginning of a list, whose entries follow. */
  readonly opensList: boolean;
  readonly start: number;
  readonly end: number;
  /** Names in all its objects, each as often as it is written. */
  readonly names: number;
}

// What is parsed at once, so that the event loop is not held.
const maxSliceBytes = 1024 * 1024;
/** What is not parsed may be larger: the images of a card, or the book that a lorebook was made of. */
const maxSkippedBytes = 16 * 1024 * 1024;
const maxDepth = 64;

function* sliceObject(
  scanner: Scanner,
  path: string,
  { lists, holders }: Readonly<Record<'lists' | 'holders', readonly string[]>>,
): Generator<JsonSlice, void> {
  for (const name of scanner.keys()) {
    const next = scanner.peek();
    const member = path + name;
    if (holders.includes(name) && next === '{')
      yield* sliceObject(scanner, `${member}/`, { lists, holders: holders.filter((holder) => holder !== name) });
    else if ((path === '' ? lists : ['entries']).includes(name) && (next === '[' || next === '{'))
      yield* sliceList(scanner, member);
    else yield { member, key: undefined, opensList: false, ...scanner.value(maxSkippedBytes) };
  }
}

function* sliceList(scanner: Scanner, member: string): Generator<JsonSlice, void> {
  const { at } = scanner;
  yield { member, key: undefined, opensList: true, start: at, end: at, names: 0 };
  for (const key of scanner.keys()) yield { member, key, opensList: false, ...scanner.value() };
}

class Scanner {
  readonly #bytes: Uint8Array;
  readonly #faultAt: (offset: number, message: string) => Fault;
  at: number;

  constructor(bytes: Uint8Array, faultAt: (offset: number, message: string) => Fault) {
    this.#bytes = bytes;
    this.#faultAt = faultAt;
    const hasByteOrderMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    this.at = hasByteOrderMark ? 3 : 0;
  }

  /** The fault of what is at a place; default: where the scanner is. */
  fault(message: string, offset = this.at): Fault {
    return this.#faultAt(offset, message);
  }

  /** The next character that is no white space; "" = the end. */
  peek(): string {
    const limit = this.at + maxSliceBytes;
    while (isSpace(this.#bytes[this.at]))
      if (++this.at > limit) throw this.fault(`has more than ${maxSliceBytes} bytes of white space`);
    const byte = this.#bytes[this.at];
    return byte === undefined ? '' : String.fromCharCode(byte);
  }

  /** Reads a list or an object up to its end: its indexes or names. The caller reads each value. */
  *keys(): Generator<string, void> {
    const end = this.peek() === '[' ? ']' : '}';
    this.at++;
    if (this.#ends(end)) return;
    for (let index = 0; ; index++) {
      yield end === ']' ? String(index) : this.#name();
      if (this.#isLast(end)) return;
    }
  }

  #name(): string {
    if (this.peek() !== '"') throw this.#expected('a name in quotation marks');
    const { start, end } = this.value();
    const name = tryParseJson(new TextDecoder().decode(this.#bytes.subarray(start, end)));
    if (name === undefined) throw this.fault('is not valid JSON: this name is no string', start);
    if (this.peek() !== ':') throw this.#expected('a colon');
    this.at++;
    this.peek();
    return String(name);
  }

  value(maxBytes = maxSliceBytes): { readonly start: number; readonly end: number; readonly names: number } {
    this.peek();
    const start = this.at;
    const limit = start + maxBytes;
    const first = this.#bytes[start];
    let names = 0;
    if (first === quote) this.#skipString(start, limit);
    else if (first === openBrace || first === openBracket) names = this.#skipNested(start, limit);
    else while (!isScalarEnd(this.#bytes[this.at]) && this.at < limit) this.at++;
    if (this.at === start) throw this.#expected('a value');
    if (this.at >= limit) throw this.fault(tooLarge(maxBytes), start);
    return { start, end: this.at, names };
  }

  // Skips a list or an object, and counts the names in it.
  #skipNested(start: number, limit: number): number {
    let [depth, names] = [0, 0];
    do {
      const byte = this.#bytes[this.at];
      if (byte === undefined) throw this.#expected('the end of an object or a list');
      if (this.at >= limit) throw this.fault(tooLarge(limit - start), start);
      if (byte === quote) {
        this.#skipString(start, limit);
        continue;
      }
      if (byte === openBrace || byte === openBracket) depth++;
      else if (byte === closeBrace || byte === closeBracket) depth--;
      else if (byte === colon) names++;
      if (depth > maxDepth) throw this.fault(`is nested too deeply: ${maxDepth} levels are allowed`);
      this.at++;
    } while (depth > 0);
    return names;
  }

  #skipString(start: number, limit: number): void {
    const opening = this.at++;
    for (; this.#bytes[this.at] !== quote; this.at++) {
      if (this.#bytes[this.at] === backslash) this.at++;
      if (this.at >= this.#bytes.length) throw this.fault('is not valid JSON: this string has no end', opening);
      if (this.at >= limit) throw this.fault(tooLarge(limit - start), start);
    }
    this.at++;
  }

  #ends(end: string): boolean {
    if (this.peek() !== end) return false;
    this.at++;
    return true;
  }

  #isLast(end: string): boolean {
    if (this.#ends(end)) return true;
    if (this.peek() !== ',') throw this.#expected(`a comma or ${end}`);
    const commaAt = this.at++;
    if (this.peek() === end) throw this.fault('is not valid JSON: a trailing comma is not allowed', commaAt);
    return false;
  }

  #expected(what: string): Fault {
    return this.fault(`is not valid JSON: ${what} is expected`);
  }
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const scalarEnds = [comma, colon, closeBracket, closeBrace];

const isScalarEnd = (byte: number | undefined): boolean =>
  byte === undefined || scalarEnds.includes(byte) || isSpace(byte);

const tooLarge = (maxBytes: number): string => `is too large: one value has more than ${maxBytes} bytes`;
