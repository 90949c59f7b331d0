import type { Token } from 'node-llama-cpp';
import { StopStringFilter } from '../../stopStrings.ts';
import type { GeneratedText } from '../prompt/tokenHistory.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface StreamingDetokenizerOptions {
  /** The end of the prompt: how the first token is spelt depends on it. */
  readonly before: readonly Token[];
  readonly stop: readonly string[];
  /** Whether control tokens stand in the text as their names. */
  readonly controlTokens: boolean;
  readonly onText: (piece: string) => void;
}

/** The text of a generation as its tokens come: whole characters only, and nothing of a stop string. */
export class StreamingDetokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #options: StreamingDetokenizerOptions;
  readonly #stops: StopStringFilter;
  readonly #tokens: Token[] = [];
  #pending: Token[] = [];
  #before: readonly Token[];
  #sent = '';
  #decoded = '';
  #plain: { textLength: number; tokens: number } = { textLength: 0, tokens: 0 };
  #exactTokens = true;

  constructor(tokenizer: Tokenizer, options: StreamingDetokenizerOptions) {
    this.#tokenizer = tokenizer;
    this.#options = options;
    this.#stops = new StopStringFilter(options.stop);
    this.#before = options.before.slice(-lookBehindTokens);
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
    return this.#stops.matched;
  }

  /** All whole characters that have come, those that are held back included. */
  get decoded(): string {
    return this.#decoded;
  }

  /** The text of the tokens since the last whole character; it ends in the mark of one that is cut. */
  get pending(): string {
    return this.#detokenize(this.#pending);
  }

  /** What `pending` would be with one more token. */
  peek(token: Token): string {
    return this.#detokenize([...this.#pending, token]);
  }

  /** @param bound whether the text is not the model's own choice, and so no stop string counts in it. */
  push(token: Token, bound = false): void {
    this.#tokens.push(token);
    this.#pending.push(token);
    const text = this.pending;
    if (endsMidCharacter(text) && this.#pending.length < maxCharacterBytes) return;
    this.#commit(text, bound);
    this.#exactTokens &&= !this.#tokenizer.isControl(token);
    if (this.#exactTokens) this.#plain = { textLength: this.#decoded.length, tokens: this.#tokens.length };
  }

  /** Sends what was held back, but for the beginning of a character that never came. */
  end(): void {
    if (!this.stopped) this.#commit(this.pending.replace(/\uFFFD+$/, ''));
    this.#send(this.#stops.flush());
  }

  /** The tokens that spell the text exactly, if there are such; else none. */
  exactPrefix(): GeneratedText {
    const { textLength, tokens } = this.#plain;
    if (textLength !== this.#sent.length) return { text: '', tokens: [] };
    return { text: this.#sent, tokens: this.#tokens.slice(0, tokens) };
  }

  #detokenize(tokens: readonly Token[]): string {
    return this.#tokenizer.detokenize(tokens, this.#before, this.#options.controlTokens);
  }

  #commit(text: string, bound = false): void {
    this.#before = [...this.#before, ...this.#pending].slice(-lookBehindTokens);
    this.#pending = [];
    this.#decoded += text;
    this.#send(bound ? this.#stops.flush() + text : this.#stops.push(text));
  }

  #send(piece: string): void {
    if (piece === '') return;
    this.#sent += piece;
    this.#options.onText(piece);
  }
}

/** Whether a text ends in the beginning of a character: one mark, for bytes that can never become one leave more. */
export const endsMidCharacter = (text: string): boolean => /(?:^|[^\uFFFD])\uFFFD$/.test(text);

const maxCharacterBytes = 4;
const lookBehindTokens = 3;
