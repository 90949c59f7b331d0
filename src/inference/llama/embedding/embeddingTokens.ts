import type { LlamaEmbeddingContext, LlamaModel as Weights, Token } from 'node-llama-cpp';
import { textTooLong } from '../../contract/model.ts';

/** The tokens of a text for an embedding. */
export interface EmbeddingTokens {
  /** Without those that the model puts around it. */
  readonly tokens: readonly Token[];
  /** With them. */
  readonly total: number;
  readonly isCut: boolean;
}

/** A text with more characters than this for each token of the context is not tokenized as a whole. */
const maxCharactersPerToken = 32;

/** Makes tokens of texts, at most as many as fit in the context of an embedding model. */
export class EmbeddingTokenizer {
  readonly #weights: Weights;
  readonly #maxTokens: number;
  /** What the model puts around each text. */
  readonly #added: number;

  constructor(weights: Weights, context: LlamaEmbeddingContext, contextSize: number) {
    this.#weights = weights;
    // The library refuses a text that fills the context.
    this.#maxTokens = contextSize - 1;
    this.#added = context.calculateInputLength([]);
  }

  count(text: string): number {
    const { tokens, isPart } = this.#tokenize(text);
    return isPart ? Math.max(tokens.length, this.#maxTokens + 2) : tokens.length;
  }

  /** @throws Fault PROMPT_TOO_LARGE when the text does not fit and is not to be cut. */
  tokens(text: string, index: number, truncate: boolean): EmbeddingTokens {
    const { tokens, isPart } = this.#tokenize(text);
    const room = this.#maxTokens - this.#added;
    const isCut = isPart || tokens.length > room;
    if (isCut && !truncate) {
      const size = isPart ? `${text.length} characters` : `${tokens.length + this.#added} tokens`;
      throw textTooLong(index, size, this.#maxTokens);
    }
    const kept = tokens.slice(0, room);
    return { tokens: kept, total: kept.length === 0 ? 0 : kept.length + this.#added, isCut };
  }

  #tokenize(text: string): { readonly tokens: readonly Token[]; readonly isPart: boolean } {
    const limit = this.#maxTokens * maxCharactersPerToken;
    const isPart = text.length > limit;
    return { tokens: this.#weights.tokenize(isPart ? text.slice(0, limit) : text, false), isPart };
  }
}
