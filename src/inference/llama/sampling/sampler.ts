import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { FinishReason } from '../../contract/engine.ts';
import type { StreamingDetokenizer } from '../../decoding/streamingDetokenizer.ts';

/**
 * Sampler of one generation, as decodeLoop drives it: receives each sampled token and returns the tokens to append to
 * the context in its place. Holds the grammar, and decides when to stop.
 */
export interface Sampler {
  /** Why no more tokens are to be sampled; undefined: continue. */
  readonly finishReason: FinishReason | undefined;
  /** The grammar that the next token has to fit; undefined: unconstrained. */
  readonly grammar: LlamaGrammarEvaluationState | undefined;
  /** Tokens to append to the prompt before the first token is sampled. */
  begin(): readonly Token[];
  /** Brings `grammar` up to date before the next token is sampled. */
  prepare(): Promise<void>;
  /** Receives a sampled token, which is not in the context yet; returns the tokens to append in its place. */
  accept(token: Token): readonly Token[];
  /** Emits the text of accepted tokens as far as it is still unsent; a stop string in it may set `finishReason`. */
  flushText(): void;
}

/** Unconstrained sampler: appends every sampled token as it is. */
export class FreeSampler implements Sampler {
  readonly grammar = undefined;
  readonly #stream: StreamingDetokenizer;
  readonly #maxTokens: number;
  #unflushed: Token[] = [];
  #accepted = 0;

  constructor(stream: StreamingDetokenizer, maxTokens: number) {
    this.#stream = stream;
    this.#maxTokens = maxTokens;
  }

  get finishReason(): FinishReason | undefined {
    if (this.#stream.stopped) return 'stop';
    return this.#accepted >= this.#maxTokens ? 'length' : undefined;
  }

  begin(): readonly Token[] {
    return [];
  }

  async prepare(): Promise<void> {}

  accept(token: Token): readonly Token[] {
    this.#unflushed.push(token);
    this.#accepted++;
    return [token];
  }

  flushText(): void {
    for (const token of this.#unflushed.splice(0)) this.#stream.push(token);
  }
}
