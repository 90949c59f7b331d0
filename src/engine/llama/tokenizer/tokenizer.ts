import type { LlamaModel, Token } from 'node-llama-cpp';
import { reasoningMarks } from '../../../tools/reasoning/reasoningFilter.ts';
import { ControlStrings } from './controlTokens.ts';

/** A model's tokeniser, and the tokens that steer the model instead of spelling text. */
export class Vocabulary {
  readonly controlStrings: ControlStrings;
  /** The token that every prompt has to begin with, if the model wants one. */
  readonly first: Token | undefined;
  readonly #model: LlamaModel;
  readonly #control: ReadonlySet<Token>;
  readonly #reasoning: ReadonlySet<Token>;
  /** Whether a space is put before every text that is read. */
  readonly #putsSpace: boolean;

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
    this.#reasoning = new Set([...this.#control].filter((token) => reasoningMarks.includes(spellings[token] ?? '')));
    this.controlStrings = new ControlStrings([...this.#control].map((token) => spellings[token] ?? ''));
    this.#putsSpace = this.spell(this.plain('a'), this.plain('a'), false) !== 'a';
    this.first = model.tokens.shouldPrependBosToken ? (model.tokens.bos ?? undefined) : undefined;
  }

  /** Whether a token of any kind has exactly this spelling. */
  has(spelling: string): boolean {
    return this.#model.fileInfo.metadata.tokenizer.ggml.tokens.includes(spelling);
  }

  /** What a spelling is: a token that steers, a token that is text, or no token of its own. */
  kindOf(spelling: string): 'control' | 'word' | 'letters' {
    const token = this.#model.fileInfo.metadata.tokenizer.ggml.tokens.indexOf(spelling);
    if (token < 0) return 'letters';
    return this.isControl(token as Token) ? 'control' : 'word';
  }

  isControl(token: Token): boolean {
    return this.#control.has(token);
  }

  /** The tokens of a text in which control strings are control tokens. */
  framed(text: string): Token[] {
    return this.#model.tokenize(text, true);
  }

  /** The tokens of a text in which every letter is just a letter. */
  plain(text: string): Token[] {
    return this.#model.tokenize(text, false);
  }

  /** The tokens of a text that goes on from others, in which every letter is just a letter. */
  onward(text: string): Token[] {
    return this.#putsSpace ? this.#model.tokenize(text, false, 'trimLeadingSpace') : this.plain(text);
  }

  /** The text that tokens spell behind the ones before them; control tokens are left out unless wanted, but for the marks of reasoning. */
  spell(tokens: readonly Token[], before: readonly Token[], control: boolean): string {
    return this.#model.detokenize(tokens, control || tokens.some((token) => this.#reasoning.has(token)), before);
  }
}
