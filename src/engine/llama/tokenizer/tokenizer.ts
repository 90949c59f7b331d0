import type { LlamaModel, Token } from 'node-llama-cpp';
import { reasoningTags } from '../../../tools/reasoning/reasoningTags.ts';
import { ControlTokenMatcher } from './controlTokens.ts';

/** A model's tokeniser, and the tokens that steer the model instead of spelling text. */
export class Tokenizer {
  readonly controlTokens: ControlTokenMatcher;
  /** The token that every prompt has to begin with, if the model wants one. */
  readonly bosToken: Token | undefined;
  readonly #model: LlamaModel;
  readonly #control: ReadonlySet<Token>;
  readonly #reasoning: ReadonlySet<Token>;
  /** Whether a space is put before every text that is read. */
  readonly #addsLeadingSpace: boolean;

  constructor(model: LlamaModel) {
    this.#model = model;
    this.#control = new Set(
      [...model.iterateAllTokens()].filter((token) => {
        const { control, unknown } = model.getTokenAttributes(token);
        return control || unknown;
      }),
    );
    // The spellings as the file has them: these are what llama.cpp looks for in a text.
    const spellings = model.fileInfo.metadata.tokenizer.ggml.tokens;
    this.#reasoning = new Set([...this.#control].filter((token) => reasoningTags.includes(spellings[token] ?? '')));
    this.controlTokens = new ControlTokenMatcher([...this.#control].map((token) => spellings[token] ?? ''));
    this.#addsLeadingSpace = this.detokenize(this.tokenizePlain('a'), this.tokenizePlain('a'), false) !== 'a';
    this.bosToken = model.tokens.shouldPrependBosToken ? (model.tokens.bos ?? undefined) : undefined;
  }

  /** Whether a token of any kind has exactly this spelling. */
  has(spelling: string): boolean {
    return this.#model.fileInfo.metadata.tokenizer.ggml.tokens.includes(spelling);
  }

  /** What a spelling is: a token that steers, a token that is text, or no token of its own. */
  tokenKind(spelling: string): 'control' | 'word' | 'letters' {
    const token = this.#model.fileInfo.metadata.tokenizer.ggml.tokens.indexOf(spelling);
    if (token < 0) return 'letters';
    return this.isControl(token as Token) ? 'control' : 'word';
  }

  isControl(token: Token): boolean {
    return this.#control.has(token);
  }

  /** The tokens of a text in which control strings are control tokens. */
  tokenizeWithControl(text: string): Token[] {
    return this.#model.tokenize(text, true);
  }

  /** The tokens of a text in which every letter is just a letter. */
  tokenizePlain(text: string): Token[] {
    return this.#model.tokenize(text, false);
  }

  /** The tokens of a text that goes on from others, in which every letter is just a letter. */
  tokenizeContinuation(text: string): Token[] {
    return this.#addsLeadingSpace ? this.#model.tokenize(text, false, 'trimLeadingSpace') : this.tokenizePlain(text);
  }

  /** The text that tokens spell behind the ones before them; control tokens are left out unless wanted, but for the marks of reasoning. */
  detokenize(tokens: readonly Token[], before: readonly Token[], control: boolean): string {
    return this.#model.detokenize(tokens, control || tokens.some((token) => this.#reasoning.has(token)), before);
  }
}
