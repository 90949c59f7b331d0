import { lineOf, tokenizeTemplate, type JinjaToken } from './lexer.ts';

const maxNesting = 100;

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

  get next(): JinjaToken {
    return this.#at(this.#index + 1);
  }

  #at(index: number): JinjaToken {
    return this.#tokens[index] ?? { type: 'end', text: '', offset: this.#source.length };
  }

  /** Returns the current token and goes to the next. */
  take(): JinjaToken {
    const token = this.current;
    this.#index++;
    return token;
  }

  isOperator(...texts: readonly string[]): boolean {
    return this.current.type === 'operator' && texts.includes(this.current.text);
  }

  isName(...texts: readonly string[]): boolean {
    return this.current.type === 'name' && texts.includes(this.current.text);
  }

  /** Skips an operator, if it is the current token; says whether it was. */
  skipOperator(text: string): boolean {
    const isCurrent = this.isOperator(text);
    if (isCurrent) this.#index++;
    return isCurrent;
  }

  /** Skips a keyword, if it is the current token; says whether it was. */
  skipName(text: string): boolean {
    const isCurrent = this.isName(text);
    if (isCurrent) this.#index++;
    return isCurrent;
  }

  /** @throws Error when the current token is another one. */
  expectOperator(text: string): void {
    if (!this.skipOperator(text)) this.fail(`expected "${text}"`);
  }

  /** @throws Error when the current token is another one. */
  expectKeyword(text: string): void {
    if (!this.skipName(text)) this.fail(`expected "${text}"`);
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
