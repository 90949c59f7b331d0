import { endOfString } from '../../base/jsonBounds.ts';
import { isJsonObject, JsonNumber, type JsonObject, type JsonValue, stringifyJson } from './value.ts';

/** Deepest nesting of arrays and objects. */
const maxJsonDepth = 64;
const maxMissingClosers = 3;

/** Options of a parser; strict by default. */
export interface ParseOptions {
  /** Also accepts single quotes, True, False, None, trailing commas and raw line breaks in strings. */
  readonly lenient?: boolean;
  /** Sticky pattern before which a lenient parser accepts up to three missing closing brackets. */
  readonly closing?: RegExp;
}

/** A parsed value, and the index after it; or where the parser stopped, and whether the text ends inside the value. */
export type ParseResult =
  | { readonly ok: true; readonly value: JsonValue; readonly end: number }
  | { readonly ok: false; readonly failedAt: number; readonly truncated: boolean };

/** Parses the value at an index, strictly or leniently, at most 64 deep. Never throws; keeps numbers as written. */
export function parseJsonAt(text: string, start: number, options: ParseOptions = {}): ParseResult {
  const parser = new RecursiveDescentParser(text, start, options);
  const value = parser.value(0);
  if (value !== undefined) return { ok: true, value, end: parser.index };
  return { ok: false, failedAt: parser.index, truncated: parser.truncated || endsInWord(text, parser.index) };
}

/** The value of a JSON text, in which numbers keep all their digits; undefined: it is no JSON. */
export function parseJsonText(text: string, lenient = false): JsonValue | undefined {
  const parsed = parseJsonAt(text, 0, { lenient });
  return parsed.ok && text.slice(parsed.end).trim() === '' ? parsed.value : undefined;
}

/** The object of a JSON text, such as the arguments of a call; undefined: it is none. */
export function parseJsonObject(text: string, lenient = false): JsonObject | undefined {
  const value = parseJsonText(text, lenient);
  return value !== undefined && isJsonObject(value) ? value : undefined;
}

/** An object of plain data as one that was parsed. */
export const toJsonObject = (data: object): JsonObject => parseJsonObject(stringifyJson(data)) ?? new Map();

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordPattern = /[a-zA-Z]+/y;
const plainCharacters = { '"': /[^"\\\x00-\x1f]+/y, "'": /[^'\\\x00-\x1f]+/y } as const;
const hexDigitsPattern = /[0-9a-fA-F]{0,4}/y;
const strictLiterals = new Map(Object.entries({ true: true, false: false, null: null }));
/** The words that stand for values in JSON, and in Python. */
export const lenientLiterals = new Map([...strictLiterals, ['True', true], ['False', false], ['None', null]]);
const escapes = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }),
);

type Quote = keyof typeof plainCharacters;

// Methods return undefined for a syntax error; `index` is then its place.
class RecursiveDescentParser {
  readonly #text: string;
  readonly #lenient: boolean;
  readonly #closing: RegExp | undefined;
  #missingClosers = 0;
  /** Index of the next character. */
  index: number;
  truncated = false;

  constructor(text: string, start: number, { lenient = false, closing }: ParseOptions) {
    this.#text = text;
    this.index = start;
    this.#lenient = lenient;
    this.#closing = lenient ? closing : undefined;
  }

  value(depth: number): JsonValue | undefined {
    const next = this.#peek();
    if (next === '{') return depth < maxJsonDepth ? this.#members(depth) : undefined;
    if (next === '[') return depth < maxJsonDepth ? this.#list(depth) : undefined;
    if (this.#isQuote(next)) return this.#string(next);
    return this.#number() ?? this.#literal();
  }

  #members(depth: number): JsonObject | undefined {
    // Created with the first member, so that a long run of opening braces fails before it allocates maps.
    let members: Map<string, JsonValue> | undefined;
    this.index++;
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
    this.index++;
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
    this.index++;
    let content = this.#match(plainCharacters[quote]);
    for (;;) {
      const next = this.#text[this.index];
      if (next === quote) {
        this.index++;
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
    this.index++;
    return character;
  }

  #escape(): string | undefined {
    const escaped = this.#text[this.index + 1];
    const simple = escapes.get(escaped ?? '') ?? (this.#lenient && escaped === "'" ? escaped : undefined);
    if (simple !== undefined) {
      this.index += 2;
      return simple;
    }
    hexDigitsPattern.lastIndex = this.index + 2;
    const digits = escaped === 'u' ? (hexDigitsPattern.exec(this.#text)?.[0] ?? '') : '';
    this.truncated = escaped === undefined || (escaped === 'u' && this.index + 2 + digits.length === this.#text.length);
    if (digits.length < 4) return undefined;
    this.truncated = false;
    this.index += 6;
    return String.fromCharCode(parseInt(digits, 16));
  }

  #number(): JsonNumber | undefined {
    const digits = this.#match(numberPattern);
    return digits === '' ? undefined : new JsonNumber(digits);
  }

  #literal(): JsonValue | undefined {
    const start = this.index;
    const word = this.#match(wordPattern);
    const value = (this.#lenient ? lenientLiterals : strictLiterals).get(word);
    if (value === undefined) this.index = start;
    return value;
  }

  #closes(closer: '}' | ']'): boolean {
    const end = this.index;
    if (this.#consume(closer)) return true;
    if (this.#closing === undefined || this.#missingClosers === maxMissingClosers) return false;
    if (endOfMatch(this.#closing, this.#text, this.index) === undefined) return false;
    this.#missingClosers++;
    this.index = end;
    return true;
  }

  #isQuote(character: string | undefined): character is Quote {
    return character === '"' || (this.#lenient && character === "'");
  }

  #consume(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.index++;
    return true;
  }

  // The next character that is no white space. A loop, because a regular expression costs more for so few characters.
  #peek(): string | undefined {
    let next = this.#text[this.index];
    while (next === ' ' || next === '\n' || next === '\r' || next === '\t') next = this.#text[++this.index];
    return next;
  }

  #match(pattern: RegExp): string {
    const start = this.index;
    this.index = endOfMatch(pattern, this.#text, start) ?? start;
    return this.#text.slice(start, this.index);
  }
}

const lastWordPattern = /[-+.\w]{0,16}$/y;

// Whether the text ends at the index, or inside a number or a literal that starts there.
const endsInWord = (text: string, index: number): boolean => endOfMatch(lastWordPattern, text, index) !== undefined;

/** Index after what a sticky pattern matches at an index; undefined: it does not match there. */
export function endOfMatch(pattern: RegExp, text: string, index: number): number | undefined {
  pattern.lastIndex = index;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

const separators = /[\s,;]*/y;

/** The index of the first character at or after `index` that is no white space, comma or semicolon. */
export const skipSeparators = (text: string, index: number): number => endOfMatch(separators, text, index) ?? index;

const whiteSpace = /\s*/y;

/** Index of the first character at or after an index that is no white space. */
export function skipWhiteSpace(text: string, index: number): number {
  // Without the regular expression where there is mostly none.
  const next = text.charCodeAt(index);
  return next > 0x20 && next < 0x80 ? index : (endOfMatch(whiteSpace, text, index) ?? index);
}

const bareWord = /[\p{L}_][\p{L}\p{N}_.-]{0,64}(?=\s{0,64}[,:}\]])/uy;
const bareValue = /(?:\d[\d.]{0,16} \p{L}{1,32}|\+\d[\d.]{0,16}|<\w{1,32}>)(?=\s{0,64}[,}\]])/uy;
const curlyQuoted = /"(?:[^"\\]|\\[^])*"?|“([^"“”\n]{0,256})”/g;

/** A text of JSON with quotes around the words that stand in place of a key or a text: `{name: "f", "x": red}`. Linear. */
export function quoteBareWords(written: string): string {
  const text = written.replace(curlyQuoted, (string, content?: string) =>
    content === undefined ? string : `"${content}"`,
  );
  let [quoted, copied] = ['', 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (!'{[,:'.includes(character)) continue;
    const start = skipWhiteSpace(text, at + 1);
    const end =
      endOfMatch(bareWord, text, start) ?? (character === ':' ? endOfMatch(bareValue, text, start) : undefined);
    const word = text.slice(start, end);
    if (end === undefined || lenientLiterals.has(word)) continue;
    quoted += text.slice(copied, start) + (word.startsWith('+') ? word.slice(1) : `"${word}"`);
    copied = end;
    at = end - 1;
  }
  return quoted + text.slice(copied);
}
