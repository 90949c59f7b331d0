import type { LlamaModel, Token } from 'node-llama-cpp';
import { reasoningTags } from '../../../tools/reasoning/reasoningTags.ts';
import { ControlTokenMatcher } from './controlTokens.ts';

/** A model's tokenizer and detokenizer, with its control tokens: tokens that steer the model and are no text. */
export class Tokenizer {
  readonly controlTokens: ControlTokenMatcher;
  /** The token (BOS) that every prompt has to begin with, if the model wants one. */
  readonly bosToken: Token | undefined;
  readonly #model: LlamaModel;
  readonly #controlTokens: ReadonlySet<Token>;
  readonly #reasoningTokens: ReadonlySet<Token>;
  /** Whether the tokenizer puts a space before each text (SentencePiece's `add_dummy_prefix`). */
  readonly #addsLeadingSpace: boolean;

  constructor(model: LlamaModel) {
    this.#model = model;
    this.#controlTokens = new Set(
      [...model.iterateAllTokens()].filter((token) => {
        const { control, unknown } = model.getTokenAttributes(token);
        return control || unknown;
      }),
    );
    // Spellings as the file has them: these are what llama.cpp searches for in a text.
    const spellings = model.fileInfo.metadata.tokenizer.ggml.tokens;
    this.#reasoningTokens = new Set(
      [...this.#controlTokens].filter((token) => reasoningTags.includes(spellings[token] ?? '')),
    );
    this.controlTokens = new ControlTokenMatcher([...this.#controlTokens].map((token) => spellings[token] ?? ''));
    this.#addsLeadingSpace = this.detokenize(this.tokenizePlain('a'), this.tokenizePlain('a'), false) !== 'a';
    this.bosToken = model.tokens.shouldPrependBosToken ? (model.tokens.bos ?? undefined) : undefined;
  }

  /** Whether a token of any kind has exactly this spelling. */
  has(spelling: string): boolean {
    return this.#model.fileInfo.metadata.tokenizer.ggml.tokens.includes(spelling);
  }

  /** Whether a spelling is one control token, one other token (word), or several tokens (letters). */
  tokenKind(spelling: string): 'control' | 'word' | 'letters' {
    const token = this.#model.fileInfo.metadata.tokenizer.ggml.tokens.indexOf(spelling);
    if (token < 0) return 'letters';
    return this.isControl(token as Token) ? 'control' : 'word';
  }

  isControl(token: Token): boolean {
    return this.#controlTokens.has(token);
  }

  /** The tokens of a text whose control strings become control tokens. */
  tokenizeWithControl(text: string): Token[] {
    return this.#model.tokenize(text, true);
  }

  /** The tokens of a text as plain text: control strings in it are text, too. */
  tokenizePlain(text: string): Token[] {
    return this.#model.tokenize(text, false);
  }

  /** The tokens of a plain text that continues another one: without the leading space of a first text. */
  tokenizeContinuation(text: string): Token[] {
    return this.#addsLeadingSpace ? this.#model.tokenize(text, false, 'trimLeadingSpace') : this.tokenizePlain(text);
  }

  /**
   * The text of tokens.
   * @param precedingTokens the tokens before them, which decide on a leading space.
   * @param withControl whether control tokens appear as their spelling; if not, only those of reasoning tags do.
   */
  detokenize(tokens: readonly Token[], precedingTokens: readonly Token[], withControl: boolean): string {
    const showsControl = withControl || tokens.some((token) => this.#reasoningTokens.has(token));
    return this.#model.detokenize(tokens, showsControl, precedingTokens);
  }
}
