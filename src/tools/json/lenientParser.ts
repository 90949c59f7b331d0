import { Numeral, type Members, type Value } from './value.ts';

/** How deep arrays and objects may nest. */
export const maxDepth = 64;

const maxMissingClosers = 3;

/** How a value is read; strictly where nothing is said. */
export interface ReadOptions {
  /** Also takes single quotes, True, False, None, trailing commas and raw line breaks in strings. */
  readonly lenient?: boolean;
  /** Sticky; a lenient reading lets up to three closers be missing before it. */
  readonly closing?: RegExp;
}

/** A value that was read; `end` is the index of what follows it. */
export interface Success {
  readonly ok: true;
  readonly value: Value;
  readonly end: number;
}

/** Where a reading failed, and whether because the text ends inside the value. */
export interface Failure {
  readonly ok: false;
  readonly at: number;
  readonly cut: boolean;
}

/** What came of reading a value. */
export type Read = Success | Failure;

/** Reads the JSON value that starts at an index of a text. */
export function readValue(text: string, at: number, options: ReadOptions = {}): Read {
  const reader = new Reader(text, at, options);
  const value = reader.value(0);
  if (value !== undefined) return { ok: true, value, end: reader.at };
  return { ok: false, at: reader.at, cut: reader.cut || endsInWord(text, reader.at) };
}

const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[a-zA-Z]+/y;
const plain = { '"': /[^"\\\x00-\x1f]+/y, "'": /[^'\\\x00-\x1f]+/y } as const;
const hexDigits = /[0-9a-fA-F]{0,4}/y;

const jsonWords: readonly (readonly [string, Value])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const strictWords: ReadonlyMap<string, Value> = new Map(jsonWords);
const lenientWords: ReadonlyMap<string, Value> = new Map([
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

type Quote = keyof typeof plain;

// Methods give undefined for a fault, which then stands at `at`.
class Reader {
  readonly #text: string;
  readonly #lenient: boolean;
  readonly #closing: RegExp | undefined;
  #missing = 0;
  at: number;
  cut = false;

  constructor(text: string, at: number, { lenient = false, closing }: ReadOptions) {
    this.#text = text;
    this.at = at;
    this.#lenient = lenient;
    this.#closing = lenient ? closing : undefined;
  }

  value(depth: number): Value | undefined {
    const next = this.#peek();
    if (next === '{') return depth < maxDepth ? this.#members(depth) : undefined;
    if (next === '[') return depth < maxDepth ? this.#list(depth) : undefined;
    if (this.#isQuote(next)) return this.#string(next);
    return this.#numeral() ?? this.#word();
  }

  #members(depth: number): Members | undefined {
    // Made with the first member: a storm of braces is refused before there is one.
    let members: Map<string, Value> | undefined;
    this.at++;
    if (this.#take('}')) return new Map();
    for (;;) {
      const quote = this.#peek();
      const key = this.#isQuote(quote) ? this.#string(quote) : undefined;
      if (key === undefined || !this.#take(':')) return undefined;
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      members = (members ?? new Map<string, Value>()).set(key, value);
      if (this.#closes('}')) return members;
      if (!this.#take(',')) return undefined;
      if (this.#lenient && this.#take('}')) return members;
    }
  }

  #list(depth: number): readonly Value[] | undefined {
    const list: Value[] = [];
    this.at++;
    if (this.#take(']')) return list;
    for (;;) {
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      list.push(value);
      if (this.#closes(']')) return list;
      if (!this.#take(',')) return undefined;
      if (this.#lenient && this.#take(']')) return list;
    }
  }

  #string(quote: Quote): string | undefined {
    this.at++;
    let content = this.#match(plain[quote]);
    for (;;) {
      const next = this.#text[this.at];
      if (next === quote) {
        this.at++;
        return content;
      }
      const piece = next === '\\' ? this.#escape() : this.#control(next);
      if (piece === undefined) return undefined;
      content += piece + this.#match(plain[quote]);
    }
  }

  #control(character: string | undefined): string | undefined {
    this.cut = character === undefined;
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
    hexDigits.lastIndex = this.at + 2;
    const digits = letter === 'u' ? (hexDigits.exec(this.#text)?.[0] ?? '') : '';
    this.cut = letter === undefined || (letter === 'u' && this.at + 2 + digits.length === this.#text.length);
    if (digits.length < 4) return undefined;
    this.cut = false;
    this.at += 6;
    return String.fromCharCode(parseInt(digits, 16));
  }

  #numeral(): Numeral | undefined {
    const digits = this.#match(numeral);
    return digits === '' ? undefined : new Numeral(digits);
  }

  #word(): Value | undefined {
    const start = this.at;
    const letters = this.#match(word);
    const value = (this.#lenient ? lenientWords : strictWords).get(letters);
    if (value === undefined) this.at = start;
    return value;
  }

  #closes(closer: '}' | ']'): boolean {
    const end = this.at;
    if (this.#take(closer)) return true;
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

  #take(character: string): boolean {
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

const longestWord = 16;
const lastWord = /[-+.\w]*$/y;

// A number or a word that the text broke off in, or nothing more at all.
function endsInWord(text: string, at: number): boolean {
  if (text.length - at > longestWord) return false;
  lastWord.lastIndex = at;
  return lastWord.test(text);
}
