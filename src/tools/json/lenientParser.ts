import { JsonNumber, type JsonObject, type JsonValue } from './value.ts';

/** How deep arrays and objects may nest. */
export const maxDepth = 64;

const maxMissingClosers = 3;

/** How a value is read; strictly where nothing is said. */
export interface ParseOptions {
  /** Also takes single quotes, True, False, None, trailing commas and raw line breaks in strings. */
  readonly lenient?: boolean;
  /** Sticky; a lenient reading lets up to three closers be missing before it. */
  readonly closing?: RegExp;
}

/** A value that was read; `end` is the index of what follows it. */
export interface ParseSuccess {
  readonly ok: true;
  readonly value: JsonValue;
  readonly end: number;
}

/** Where a reading failed, and whether because the text ends inside the value. */
export interface ParseFailure {
  readonly ok: false;
  readonly at: number;
  readonly truncated: boolean;
}

/** What came of reading a value. */
export type ParseResult = ParseSuccess | ParseFailure;

/** Reads the JSON value that starts at an index of a text. */
export function parseJsonAt(text: string, at: number, options: ParseOptions = {}): ParseResult {
  const reader = new LenientParser(text, at, options);
  const value = reader.value(0);
  if (value !== undefined) return { ok: true, value, end: reader.at };
  return { ok: false, at: reader.at, truncated: reader.truncated || endsInWord(text, reader.at) };
}

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordPattern = /[a-zA-Z]+/y;
const plainCharacters = { '"': /[^"\\\x00-\x1f]+/y, "'": /[^'\\\x00-\x1f]+/y } as const;
const hexDigitsPattern = /[0-9a-fA-F]{0,4}/y;

const jsonWords: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const strictWords: ReadonlyMap<string, JsonValue> = new Map(jsonWords);
const lenientWords: ReadonlyMap<string, JsonValue> = new Map([
  ...jsonWords,
  ['True', true],
  ['False', false],
  ['None', null],
]);
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

type Quote = keyof typeof plainCharacters;

// Methods give undefined for a fault, which then stands at `at`.
class LenientParser {
  readonly #text: string;
  readonly #lenient: boolean;
  readonly #closing: RegExp | undefined;
  #missing = 0;
  at: number;
  truncated = false;

  constructor(text: string, at: number, { lenient = false, closing }: ParseOptions) {
    this.#text = text;
    this.at = at;
    this.#lenient = lenient;
    this.#closing = lenient ? closing : undefined;
  }

  value(depth: number): JsonValue | undefined {
    const next = this.#peek();
    if (next === '{') return depth < maxDepth ? this.#members(depth) : undefined;
    if (next === '[') return depth < maxDepth ? this.#list(depth) : undefined;
    if (this.#isQuote(next)) return this.#string(next);
    return this.#numeral() ?? this.#word();
  }

  #members(depth: number): JsonObject | undefined {
    // Made with the first member: a storm of braces is refused before there is one.
    let members: Map<string, JsonValue> | undefined;
    this.at++;
    if (this.#consume('}')) return new Map();
    for (;;) {
      const quote = this.#peek();
      const key = this.#isQuote(quote) ? this.#string(quote) : undefined;
      if (key === undefined || !this.#consume(':')) return undefined;
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      members = (members ?? new Map<string, JsonValue>()).set(key, value);
      if (this.#closes('}')) return members;
      if (!this.#consume(',')) return undefined;
      if (this.#lenient && this.#consume('}')) return members;
    }
  }

  #list(depth: number): readonly JsonValue[] | undefined {
    const list: JsonValue[] = [];
    this.at++;
    if (this.#consume(']')) return list;
    for (;;) {
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      list.push(value);
      if (this.#closes(']')) return list;
      if (!this.#consume(',')) return undefined;
      if (this.#lenient && this.#consume(']')) return list;
    }
  }

  #string(quote: Quote): string | undefined {
    this.at++;
    let content = this.#match(plainCharacters[quote]);
    for (;;) {
      const next = this.#text[this.at];
      if (next === quote) {
        this.at++;
        return content;
      }
      const piece = next === '\\' ? this.#escape() : this.#control(next);
      if (piece === undefined) return undefined;
      content += piece + this.#match(plainCharacters[quote]);
    }
  }

  #control(character: string | undefined): string | undefined {
    this.truncated = character === undefined;
    if (character === undefined || !this.#lenient) return undefined;
    this.at++;
    return character;
  }

  #escape(): string | undefined {
    const letter = this.#text[this.at + 1];
    const simple = escapes.get(letter ?? '') ?? (this.#lenient && letter === "'" ? letter : undefined);
    if (simple !== undefined) {
      this.at += 2;
      return simple;
    }
    hexDigitsPattern.lastIndex = this.at + 2;
    const digits = letter === 'u' ? (hexDigitsPattern.exec(this.#text)?.[0] ?? '') : '';
    this.truncated = letter === undefined || (letter === 'u' && this.at + 2 + digits.length === this.#text.length);
    if (digits.length < 4) return undefined;
    this.truncated = false;
    this.at += 6;
    return String.fromCharCode(parseInt(digits, 16));
  }

  #numeral(): JsonNumber | undefined {
    const digits = this.#match(numberPattern);
    return digits === '' ? undefined : new JsonNumber(digits);
  }

  #word(): JsonValue | undefined {
    const start = this.at;
    const letters = this.#match(wordPattern);
    const value = (this.#lenient ? lenientWords : strictWords).get(letters);
    if (value === undefined) this.at = start;
    return value;
  }

  #closes(closer: '}' | ']'): boolean {
    const end = this.at;
    if (this.#consume(closer)) return true;
    if (this.#closing === undefined || this.#missing === maxMissingClosers) return false;
    this.#closing.lastIndex = this.at;
    if (!this.#closing.test(this.#text)) return false;
    this.#missing++;
    this.at = end;
    return true;
  }

  #isQuote(character: string | undefined): character is Quote {
    return character === '"' || (this.#lenient && character === "'");
  }

  #consume(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.at++;
    return true;
  }

  // The character after the white space; a loop, because a pattern costs more than the few characters it passes.
  #peek(): string | undefined {
    let next = this.#text[this.at];
    while (next === ' ' || next === '\n' || next === '\r' || next === '\t') next = this.#text[++this.at];
    return next;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return '';
    const matched = this.#text.slice(this.at, pattern.lastIndex);
    this.at = pattern.lastIndex;
    return matched;
  }
}

const maxWordLength = 16;
const lastWordPattern = /[-+.\w]*$/y;

// A number or a word that the text broke off in, or nothing more at all.
function endsInWord(text: string, at: number): boolean {
  if (text.length - at > maxWordLength) return false;
  lastWordPattern.lastIndex = at;
  return lastWordPattern.test(text);
}
