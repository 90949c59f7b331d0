import { stripEnd, stripStart } from '../values/characters.ts';

/** A token of a template. Text outside of tags is one token. */
export interface JinjaToken {
  readonly type: 'text' | 'name' | 'string' | 'integer' | 'float' | 'operator' | 'end';
  /** The text, name, operator or digits; of a string what it stands for. `{{`, `}}`, `{%` and `%}` are operators. */
  readonly text: string;
  readonly offset: number;
}

/** The tokens of a template, with transformers' `trim_blocks` and `lstrip_blocks`. @throws Error with the line. */
function tokenizeTemplate(source: string): readonly JinjaToken[] {
  if (source.length > maxSourceLength) throw new Error(`the template has more than ${maxSourceLength} characters`);
  const normalized = source.replace(/\r\n?/g, '\n');
  return new Lexer(normalized.endsWith('\n') ? normalized.slice(0, -1) : normalized).tokens();
}

const maxSourceLength = 2 ** 20;
const tagEnds = { '{{': '}}', '{%': '%}' } as const;
const operator = /\*\*|\/\/|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,]/y;
const name = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy;
const float = /(?<![\d_])\d+(?:_\d+)*(?:(?:\.\d+(?:_\d+)*)?[eE][-+]?\d+(?:_\d+)*|\.\d+(?:_\d+)*)/y;
const integer = /0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*/y;
// The groups match a string that has no end.
const string = /'(?:[^'\\]|\\[^]?)*(?:'|($))|"(?:[^"\\]|\\[^]?)*(?:"|($))/y;
const spaces = /\s+/y;
const rawBegin = /\{%[-+]?\s*raw\s*(?:-%\}\s*|%\})/y;
const rawEnd = /\{%([-+]?)\s*endraw\s*(?:\+%\}|-%\}\s*|%\}\n?)/g;

class Lexer {
  readonly #source: string;
  readonly #tokens: JinjaToken[] = [];
  #position = 0;

  constructor(source: string) {
    this.#source = source;
  }

  tokens(): readonly JinjaToken[] {
    while (this.#position < this.#source.length) {
      const start = this.#findTag();
      const kind = this.#source.slice(start, start + 2);
      const sign = this.#source.charAt(start + 2);
      this.#pushText(this.#position, start, sign, kind !== '{{');
      this.#position = start;
      if (start === this.#source.length) break;
      if (kind === '{#') this.#skipComment();
      else if (kind === '{%' && this.#matches(rawBegin)) this.#readRaw();
      else this.#readTag(kind === '{{' ? '{{' : '{%');
    }
    this.#push('end', '', this.#source.length);
    return this.#tokens;
  }

  #findTag(): number {
    for (let at = this.#source.indexOf('{', this.#position); at >= 0; at = this.#source.indexOf('{', at + 1))
      if ('{%#'.includes(this.#source.charAt(at + 1) || ' ')) return at;
    return this.#source.length;
  }

  #pushText(start: number, end: number, sign: string, isBlock: boolean): void {
    const text = this.#source.slice(start, end);
    if (end === this.#source.length) this.#push('text', text, start);
    else if (sign === '-') this.#push('text', stripEnd(text), start);
    else if (sign === '+' || !isBlock) this.#push('text', text, start);
    else {
      // lstrip_blocks: white space between the start of the line and a block is removed.
      const lineStart = text.lastIndexOf('\n') + 1;
      const startsLine = lineStart > 0 || start === 0 || this.#source.charAt(start - 1) === '\n';
      const isBlank = stripStart(text.slice(lineStart)) === '';
      this.#push('text', startsLine && isBlank ? text.slice(0, lineStart) : text, start);
    }
  }

  #skipComment(): void {
    const hasSign = '-+'.includes(this.#source.charAt(this.#position + 2) || ' ');
    const start = this.#position + (hasSign ? 3 : 2);
    const end = this.#source.indexOf('#}', start);
    if (end < 0) this.#fail('the comment has no end');
    this.#endTag(end === start ? '' : this.#source.charAt(end - 1), end + 2, true);
  }

  #readRaw(): void {
    const start = this.#skip(rawBegin);
    rawEnd.lastIndex = start;
    const end = rawEnd.exec(this.#source);
    if (!end) this.#fail('"raw" has no end');
    this.#pushText(start, end.index, end[1] ?? '', true);
    this.#position = rawEnd.lastIndex;
  }

  #readTag(begin: '{{' | '{%'): void {
    const end = tagEnds[begin];
    this.#push('operator', begin, this.#position);
    this.#position += 2;
    if ('-+'.includes(this.#source.charAt(this.#position) || ' ')) this.#position++;
    for (let brackets = 0; ;) {
      this.#skip(spaces);
      if (brackets === 0 && this.#readTagEnd(end)) return;
      const token = this.#readToken();
      if (token.type !== 'operator') continue;
      if ('([{'.includes(token.text)) brackets++;
      if (')]}'.includes(token.text)) brackets--;
    }
  }

  #readTagEnd(end: '}}' | '%}'): boolean {
    const sign = this.#source.charAt(this.#position);
    const hasSign = sign === '-' || (sign === '+' && end === '%}');
    const start = hasSign ? this.#position + 1 : this.#position;
    if (!this.#source.startsWith(end, start)) return false;
    this.#push('operator', end, start);
    this.#endTag(hasSign ? sign : '', start + 2, end === '%}');
    return true;
  }

  /** Continues after a tag, and after the white space that it removes. */
  #endTag(sign: string, next: number, isBlock: boolean): void {
    this.#position = next;
    if (sign === '-') this.#skip(spaces);
    // trim_blocks: the first newline after a block is removed.
    else if (isBlock && sign !== '+' && this.#source.charAt(next) === '\n') this.#position++;
  }

  #readToken(): JinjaToken {
    const start = this.#position;
    const previous = this.#tokens.at(-1);
    const isAfterDot = previous?.type === 'operator' && previous.text === '.';
    if (!isAfterDot && this.#matches(float)) return this.#readNumber('float', float);
    if (this.#matches(integer)) return this.#readNumber('integer', integer);
    if (this.#matches(name)) return this.#push('name', this.#source.slice(start, this.#skip(name)), start);
    string.lastIndex = start;
    const [written, ...unclosed] = string.exec(this.#source) ?? [];
    if (written !== undefined && unclosed.every((end) => end === undefined)) {
      const text = this.#source.slice(start + 1, this.#skip(string) - 1);
      return this.#push('string', unescapeString(text), start);
    }
    if (this.#matches(operator)) return this.#push('operator', this.#source.slice(start, this.#skip(operator)), start);
    if (start >= this.#source.length) this.#fail('the last tag has no end');
    return this.#fail(`unexpected ${JSON.stringify(this.#source.charAt(start))}`);
  }

  #readNumber(type: 'integer' | 'float', pattern: RegExp): JinjaToken {
    const start = this.#position;
    return this.#push(type, this.#source.slice(start, this.#skip(pattern)).replaceAll('_', ''), start);
  }

  #matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position;
    return pattern.test(this.#source);
  }

  /** Continues after what a pattern matches here, if it does; returns the new position. */
  #skip(pattern: RegExp): number {
    if (this.#matches(pattern)) this.#position = pattern.lastIndex;
    return this.#position;
  }

  #push(type: JinjaToken['type'], text: string, offset: number): JinjaToken {
    const token = { type, text, offset };
    if (type !== 'text' || text !== '') this.#tokens.push(token);
    return token;
  }

  #fail(what: string): never {
    throw new Error(`line ${lineOf(this.#source, this.#position)}: ${what}`);
  }
}

/** The line (from 1) of an offset of a template. */
export const lineOf = (source: string, offset: number): number => source.slice(0, offset).split('\n').length;

const escaped = /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(\n)|([abfnrtv\\'"]))/g;
const simple: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** What a string of a template stands for, by its source between the quotes. As in Python, an unknown escape stays. */
const unescapeString = (source: string): string =>
  source.replace(
    escaped,
    (match, octal?: string, x?: string, u?: string, long?: string, newline?: string, char = '') => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const hex = x ?? u ?? long;
      if (hex !== undefined) {
        const code = Number.parseInt(hex, 16);
        return code > 0x10_ff_ff ? match : String.fromCodePoint(code);
      }
      return newline === undefined ? (simple[char] ?? char) : '';
    },
  );

const maxNesting = 100;

const isWritten = ({ type, text }: JinjaToken, texts: readonly string[]): boolean =>
  (type === 'operator' || type === 'name') && texts.includes(text);

/** Reads the tokens of a template one after the other. Its errors name the line. */
export class TokenStream {
  readonly #source: string;
  readonly #tokens: readonly JinjaToken[];
  #index = 0;
  #nesting = 0;

  /** @throws Error when the source has an invalid token. */
  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenizeTemplate(source);
  }

  get current(): JinjaToken {
    return this.#at(this.#index);
  }

  #at(index: number): JinjaToken {
    return this.#tokens[index] ?? { type: 'end', text: '', offset: this.#source.length };
  }

  take(): JinjaToken {
    const token = this.current;
    this.#index++;
    return token;
  }

  /** Whether the current token is one of these operators or words. */
  is(...texts: readonly string[]): boolean {
    return isWritten(this.current, texts);
  }

  /** Whether the token after the current one is this operator or word. */
  isNext(text: string): boolean {
    return isWritten(this.#at(this.#index + 1), [text]);
  }

  /** Skips an operator or a keyword, if it is the current token; says whether it was. */
  skip(text: string): boolean {
    const isCurrent = this.is(text);
    if (isCurrent) this.#index++;
    return isCurrent;
  }

  /** @throws Error when the current token is another one. */
  expect(text: string): void {
    if (!this.skip(text)) this.fail(`expected "${text}"`);
  }

  /** @throws Error when the current token is no name. */
  expectName(): string {
    if (this.current.type !== 'name') this.fail('expected a name');
    return this.take().text;
  }

  /** Parses a part inside of another one. @throws Error when they are nested too deeply. */
  nested<T>(parse: () => T): T {
    if (this.#nesting >= maxNesting) this.fail(`parts are nested more than ${maxNesting} times`);
    this.#nesting++;
    const result = parse();
    this.#nesting--;
    return result;
  }

  fail(what: string): never {
    const { type, text, offset } = this.current;
    const found = type === 'end' ? 'the end of the template' : JSON.stringify(text.slice(0, 30));
    throw new Error(`line ${lineOf(this.#source, offset)}: ${what}, found ${found}`);
  }
}
