import type { Token } from '../../decoding/tokenizer.ts';
import type { GeneratedText, TextOptions } from '../../decoding/streamingDetokenizer.ts';
import { EmittedText, nothingGenerated } from '../../decoding/streamingDetokenizer.ts';
import type { RemotePrompts } from './remotePrompts.ts';

/** A piece of generated text, as a server has sent it or as it was appended here. */
export interface GeneratedPiece {
  /** Control tokens by name. */
  readonly text: string;
  /** Undefined: its tokens are not known, only their text, all of which appears. */
  readonly tokens: readonly Token[] | undefined;
  /** Number of tokens. */
  readonly count: number;
  readonly isControl: boolean;
  /** One of its tokens, and natural logarithms of the probabilities of this one and of others; absent: they are not known. */
  readonly chosen?: { readonly token: Token; readonly logprobs: ReadonlyMap<number, number> };
}

/** The text of one generation: its pieces, and what of them is emitted. */
export class GenerationText extends EmittedText {
  readonly pieces: GeneratedPiece[] = [];
  /** Number of tokens. */
  count = 0;
  readonly #prompts: RemotePrompts;
  /** Tags that always appear in the text. */
  readonly #tags: readonly string[];
  readonly #controlTokens: boolean | readonly string[];

  constructor(prompts: RemotePrompts, tags: readonly string[], options: TextOptions) {
    super(options);
    this.#prompts = prompts;
    this.#tags = tags;
    this.#controlTokens = options.controlTokens ?? false;
  }

  /** The text of a piece that appears. */
  shown({ text, tokens, isControl }: GeneratedPiece): string {
    return isControl && tokens?.length === 1 && !this.#isShown(text) ? '' : text;
  }

  /** Adds a piece and emits its text. @param constrained by a grammar: no stop string is searched in it. */
  push(piece: GeneratedPiece, constrained: boolean): void {
    this.pieces.push(piece);
    this.count += piece.count;
    this.emit(this.shown(piece), constrained);
  }

  /** Adds tokens that the model has not chosen, and their text. */
  append(tokens: readonly Token[], text: string): void {
    this.push({ text, tokens, count: tokens.length, isControl: false }, true);
  }

  /** The tokens of all pieces; where they are not known, those of their text. */
  async tokens(): Promise<readonly Token[]> {
    const tokens: Token[] = [];
    let unknown = '';
    const resolve = async (): Promise<void> => {
      if (unknown !== '') for (const token of await this.#prompts.continuation(unknown, false)) tokens.push(token);
      unknown = '';
    };
    for (const { tokens: known, text, isControl } of this.pieces) {
      if (!known && !isControl) {
        unknown += text;
        continue;
      }
      await resolve();
      for (const token of known ?? (await this.#prompts.continuation(text, true))) tokens.push(token);
    }
    await resolve();
    return tokens;
  }

  /** All tokens by name, control tokens too. */
  get transcript(): string {
    return this.pieces.map(({ text }) => text).join('');
  }

  /** The emitted text with its tokens; both empty where the tokens are not exactly this text. */
  exactPrefix(): GeneratedText {
    const controlOffsets: number[] = [];
    const tokens: Token[] = [];
    let text = '';
    for (const piece of this.pieces) {
      if (!piece.tokens || this.shown(piece) !== piece.text) break;
      if (piece.isControl) controlOffsets.push(text.length);
      text += piece.text;
      tokens.push(...piece.tokens);
    }
    return text === this.text ? { text, tokens, controlOffsets } : nothingGenerated;
  }

  #isShown(control: string): boolean {
    const shown = this.#controlTokens;
    if (shown === true || this.#tags.some((tag) => tag.includes(control))) return true;
    return shown !== false && shown.includes(control);
  }
}
