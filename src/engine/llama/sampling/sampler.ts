import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { FinishReason } from '../../engine.ts';
import type { StreamingDetokenizer } from '../tokenizer/streamingDetokenizer.ts';

/** What writes a text: it is handed every token that is drawn, and says which stand in the text instead. */
export interface Sampler {
  /** Why nothing more is to be drawn; undefined: go on. */
  readonly finishReason: FinishReason | undefined;
  /** What the next draw has to fit. */
  readonly grammar: LlamaGrammarEvaluationState | undefined;
  /** Tokens that stand before the first draw. */
  begin(): readonly Token[];
  /** Gets ready for the next draw. */
  prepare(): Promise<void>;
  /** Takes a token that was drawn, but is not in the context yet; gives what comes there in its place. */
  accept(token: Token): readonly Token[];
  /** Tells the text of what was taken, as far as it has not been told; it may turn out to have ended. */
  flushText(): void;
}

/** A pen that writes what is drawn. */
export class FreeSampler implements Sampler {
  readonly grammar = undefined;
  readonly #stream: StreamingDetokenizer;
  readonly #maxTokens: number;
  #unflushed: Token[] = [];
  #accepted = 0;

  /** @param room tokens that the text may have. */
  constructor(stream: StreamingDetokenizer, room: number) {
    this.#stream = stream;
    this.#maxTokens = room;
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
