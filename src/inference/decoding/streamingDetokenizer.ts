import type { Token } from 'node-llama-cpp';
import type { GenerateOptions } from '../contract/engine.ts';
import type { SamplingParams } from '../contract/samplingParams.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Generated text with its tokens, as far as the tokens are exactly the text. */
export interface GeneratedText {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Offsets (UTF-16 units, ascending) in `text` of the control tokens that it shows: marks of a reply. */
  readonly controlOffsets: readonly number[];
}

/** The text of no generation, or of one whose tokens are not exactly the text. */
export const nothingGenerated: GeneratedText = { text: '', tokens: [], controlOffsets: [] };

/** The options of a generation that say what of its text is emitted. */
export type TextOptions = Pick<GenerateOptions, 'onText' | 'controlTokens'> & {
  readonly sampling: Pick<SamplingParams, 'stop'>;
};

/** A generated text. It is emitted up to the first stop string, but for what may become the beginning of one. */
export class EmittedText {
  readonly #stops: readonly string[];
  readonly #onText: ((piece: string) => void) | undefined;
  #sent = '';
  #decoded = '';
  #held = '';
  #stopped = false;

  /** @param options empty stop strings are ignored. */
  constructor({ sampling, onText }: TextOptions) {
    this.#stops = sampling.stop.filter((stop) => stop !== '');
    this.#onText = onText;
  }

  /** All text that was emitted. */
  get text(): string {
    return this.#sent;
  }

  /** All text so far, including what is held back. */
  get decoded(): string {
    return this.#decoded;
  }

  /** Whether a stop string has matched. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /**
   * Adds a text, and emits it.
   * @param constrained whether a grammar chose it: no stop string is searched in it, so that it stays complete.
   */
  emit(text: string, constrained: boolean): void {
    this.#decoded += text;
    if (constrained || this.#stops.length === 0) return this.#send(this.#held + text, '');
    if (this.#stopped) return;
    const unsent = this.#held + text;
    const stopIndex = firstStopIndex(unsent, this.#stops);
    this.#stopped = stopIndex !== undefined;
    const safeLength = stopIndex ?? unsent.length - possibleStopLength(unsent, this.#stops);
    this.#send(unsent.slice(0, safeLength), this.#stopped ? '' : unsent.slice(safeLength));
  }

  /** Emits what was held back. */
  end(): void {
    this.#send(this.#held, '');
  }

  #send(piece: string, held: string): void {
    this.#held = held;
    if (piece === '') return;
    this.#sent += piece;
    this.#onText?.(piece);
  }
}

/**
 * Streaming (incremental) detokenizer: turns tokens into text as they are generated. It emits whole UTF-8 characters
 * only, holds back what may become a stop string, and emits nothing from a stop string on.
 */
export class StreamingDetokenizer extends EmittedText {
  readonly #tokenizer: Tokenizer;
  /** The last tokens of the prompt: the spacing of the first generated token depends on them. */
  readonly #promptEnd: readonly Token[];
  /** The control tokens that appear in the text. */
  readonly #shown: boolean | ReadonlySet<Token>;
  readonly #tokens: Token[] = [];
  /** Tokens of a character that is not complete yet. */
  #pending: Token[] = [];
  #precedingTokens: readonly Token[];
  /** The longest beginning of the generation without hidden control tokens and partial characters. */
  #exact: { readonly textLength: number; readonly tokens: number } = { textLength: 0, tokens: 0 };
  #exactTokens = true;
  readonly #controlOffsets: number[] = [];

  constructor(tokenizer: Tokenizer, prompt: readonly Token[], options: TextOptions) {
    super(options);
    const { controlTokens = false } = options;
    this.#tokenizer = tokenizer;
    this.#shown = typeof controlTokens === 'boolean' ? controlTokens : tokenizer.controlTokensOf(controlTokens);
    this.#promptEnd = prompt.slice(-maxPrecedingTokens);
    this.#precedingTokens = this.#promptEnd;
  }

  /** Number of tokens. */
  get count(): number {
    return this.#tokens.length;
  }

  /** All tokens by name, without a character that stayed incomplete. */
  get transcript(): string {
    const text = this.#tokenizer.detokenize(this.#tokens, this.#promptEnd, true);
    return endsMidCharacter(text) ? text.slice(0, -1) : text;
  }

  /** The text of the tokens after the last whole character: empty, or ending in U+FFFD for an incomplete character. */
  get pending(): string {
    return this.#detokenize(this.#pending);
  }

  /** What `pending` would be with one more token, before its whole characters are emitted. */
  peek(token: Token): string {
    return this.#detokenize([...this.#pending, token]);
  }

  /**
   * Adds a token and emits what is complete.
   * @param constrained whether a grammar chose the text: no stop string is searched in it, so that it stays complete.
   */
  push(token: Token, constrained = false): void {
    this.#tokens.push(token);
    this.#pending.push(token);
    const text = this.pending;
    if (endsMidCharacter(text) && this.#pending.length < maxTokensPerCharacter) return;
    const start = this.decoded.length;
    this.#commit(text, constrained);
    if (this.#tokenizer.isControl(token)) {
      this.#exactTokens &&= text === this.#tokenizer.controlSpelling(token);
      this.#controlOffsets.push(start);
    }
    if (this.#exactTokens) this.#exact = { textLength: this.decoded.length, tokens: this.#tokens.length };
  }

  /** Adds tokens that the model has not chosen. */
  append(tokens: readonly Token[]): void {
    for (const token of tokens) this.push(token, true);
  }

  /** Emits what was held back, without a character that stayed incomplete. */
  override end(): void {
    if (!this.stopped) this.#commit(this.pending.replace(/(?<!\uFFFD)\uFFFD+$/, ''), false);
    super.end();
  }

  /** The emitted text with its tokens; both empty where the tokens are not exactly this text. */
  exactPrefix(): GeneratedText {
    const { textLength, tokens } = this.#exact;
    if (textLength !== this.text.length) return nothingGenerated;
    return { text: this.text, tokens: this.#tokens.slice(0, tokens), controlOffsets: this.#controlOffsets };
  }

  #detokenize(tokens: readonly Token[]): string {
    return this.#tokenizer.detokenize(tokens, this.#precedingTokens, this.#shown);
  }

  #commit(text: string, constrained: boolean): void {
    this.#precedingTokens = [...this.#precedingTokens, ...this.#pending].slice(-maxPrecedingTokens);
    this.#pending = [];
    this.emit(text, constrained);
  }
}

/** Whether a text ends in an incomplete UTF-8 sequence: exactly one U+FFFD (invalid bytes decode to several). */
export const endsMidCharacter = (text: string): boolean => /(?:^|[^\uFFFD])\uFFFD$/.test(text);

/** With byte tokens, each of the at most four bytes of a character is a token. */
const maxTokensPerCharacter = 4;
const maxPrecedingTokens = 3;

/**
 * Where the first stop string in a text starts; undefined: there is none. The one that ends first wins, so that the result does
 * not depend on how the text was split into pieces.
 */
const firstStopIndex = (text: string, stops: readonly string[]): number | undefined =>
  stops
    .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.end - b.end || a.start - b.start)[0]?.start;

/** The length of the longest end of a text that could be the beginning of a stop string. */
function possibleStopLength(text: string, stops: readonly string[]): number {
  const lengths = stops.map((stop) => {
    for (let length = Math.min(stop.length - 1, text.length); length > 0; length--) {
      if (text.endsWith(stop.slice(0, length))) return length;
    }
    return 0;
  });
  return Math.max(...lengths);
}
