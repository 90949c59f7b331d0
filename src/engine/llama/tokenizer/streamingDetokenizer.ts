import type { Token } from 'node-llama-cpp';
import { Stops } from '../../stopStrings.ts';
import type { Written } from '../prompt/tokenHistory.ts';
import type { Vocabulary } from './tokenizer.ts';

export interface TextStreamOptions {
  /** The end of the prompt: how the first token is spelt depends on it. */
  readonly before: readonly Token[];
  readonly stop: readonly string[];
  /** Whether control tokens stand in the text as their names. */
  readonly controlTokens: boolean;
  readonly onText: (piece: string) => void;
}

/** The text of a generation as its tokens come: whole characters only, and nothing of a stop string. */
export class TextStream {
  readonly #vocabulary: Vocabulary;
  readonly #options: TextStreamOptions;
  readonly #stops: Stops;
  readonly #tokens: Token[] = [];
  #pending: Token[] = [];
  #before: readonly Token[];
  #sent = '';
  #decoded = '';
  #plain: { textLength: number; tokens: number } = { textLength: 0, tokens: 0 };
  #pure = true;

  constructor(vocabulary: Vocabulary, options: TextStreamOptions) {
    this.#vocabulary = vocabulary;
    this.#options = options;
    this.#stops = new Stops(options.stop);
    this.#before = options.before.slice(-lookBehind);
  }

  /** Everything that was sent. */
  get text(): string {
    return this.#sent;
  }

  get tokens(): readonly Token[] {
    return this.#tokens;
  }

  /** Whether a stop string has come. */
  get stopped(): boolean {
    return this.#stops.hit;
  }

  /** All whole characters that have come, those that are held back included. */
  get decoded(): string {
    return this.#decoded;
  }

  /** The text of the tokens since the last whole character; it ends in the mark of one that is cut. */
  get pending(): string {
    return this.#spell(this.#pending);
  }

  /** What `pending` would be with one more token. */
  with(token: Token): string {
    return this.#spell([...this.#pending, token]);
  }

  /** @param bound whether the text is not the model's own choice, and so no stop string counts in it. */
  push(token: Token, bound = false): void {
    this.#tokens.push(token);
    this.#pending.push(token);
    const text = this.pending;
    if (isCut(text) && this.#pending.length < bytesOfCharacter) return;
    this.#settle(text, bound);
    this.#pure &&= !this.#vocabulary.isControl(token);
    if (this.#pure) this.#plain = { textLength: this.#decoded.length, tokens: this.#tokens.length };
  }

  /** Sends what was held back, but for the beginning of a character that never came. */
  end(): void {
    if (!this.stopped) this.#settle(this.pending.replace(/\uFFFD+$/, ''));
    this.#send(this.#stops.rest());
  }

  /** The tokens that spell the text exactly, if there are such; else none. */
  written(): Written {
    const { textLength, tokens } = this.#plain;
    if (textLength !== this.#sent.length) return { text: '', tokens: [] };
    return { text: this.#sent, tokens: this.#tokens.slice(0, tokens) };
  }

  #spell(tokens: readonly Token[]): string {
    return this.#vocabulary.spell(tokens, this.#before, this.#options.controlTokens);
  }

  #settle(text: string, bound = false): void {
    this.#before = [...this.#before, ...this.#pending].slice(-lookBehind);
    this.#pending = [];
    this.#decoded += text;
    this.#send(bound ? this.#stops.rest() + text : this.#stops.pass(text));
  }

  #send(piece: string): void {
    if (piece === '') return;
    this.#sent += piece;
    this.#options.onText(piece);
  }
}

/** Whether a text ends in the beginning of a character: one mark, for bytes that can never become one leave more. */
export const isCut = (text: string): boolean => /(?:^|[^\uFFFD])\uFFFD$/.test(text);

const bytesOfCharacter = 4;
const lookBehind = 3;
