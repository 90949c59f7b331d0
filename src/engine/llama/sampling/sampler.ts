import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { Stopped } from '../../engine.ts';
import type { TextStream } from '../tokenizer/streamingDetokenizer.ts';

/** What writes a text: it is handed every token that is drawn, and says which stand in the text instead. */
export interface Pen {
  /** Why nothing more is to be drawn; undefined: go on. */
  readonly ended: Stopped | undefined;
  /** What the next draw has to fit. */
  readonly grammar: LlamaGrammarEvaluationState | undefined;
  /** Tokens that stand before the first draw. */
  open(): readonly Token[];
  /** Gets ready for the next draw. */
  ready(): Promise<void>;
  /** Takes a token that was drawn, but is not in the context yet; gives what comes there in its place. */
  take(token: Token): readonly Token[];
  /** Tells the text of what was taken, as far as it has not been told; it may turn out to have ended. */
  tell(): void;
}

/** A pen that writes what is drawn. */
export class FreePen implements Pen {
  readonly grammar = undefined;
  readonly #stream: TextStream;
  readonly #room: number;
  #untold: Token[] = [];
  #taken = 0;

  /** @param room tokens that the text may have. */
  constructor(stream: TextStream, room: number) {
    this.#stream = stream;
    this.#room = room;
  }

  get ended(): Stopped | undefined {
    if (this.#stream.stopped) return 'stop';
    return this.#taken >= this.#room ? 'length' : undefined;
  }

  open(): readonly Token[] {
    return [];
  }

  async ready(): Promise<void> {}

  take(token: Token): readonly Token[] {
    this.#untold.push(token);
    this.#taken++;
    return [token];
  }

  tell(): void {
    for (const token of this.#untold.splice(0)) this.#stream.push(token);
  }
}
