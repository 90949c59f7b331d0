import type { LlamaContext, LlamaModel as Weights } from 'node-llama-cpp';
import type { Prompt } from '../../dialog.ts';
import type { Model, Sequence } from '../engine.ts';
import { detectFormat } from './format.ts';
import { layoutOf } from './layout.ts';
import { Seats } from './seats.ts';
import { LlamaSequence } from './sequence.ts';
import { PromptTemplate } from './template.ts';
import { Vocabulary } from './vocabulary.ts';

export interface LlamaModelParts {
  readonly weights: Weights;
  readonly context: LlamaContext;
  /** Tokens. */
  readonly contextSize: number;
  readonly notes: readonly string[];
  readonly onClose: (model: Model) => unknown;
}

/** A GGUF model in memory, with one context for all its sequences. */
export class LlamaModel implements Model {
  readonly contextSize: number;
  readonly detectedFormat: string | undefined;
  readonly notes: readonly string[];
  readonly overhead: Model['overhead'];
  readonly #parts: LlamaModelParts;
  readonly #vocabulary: Vocabulary;
  readonly #template: PromptTemplate;
  readonly #seats: Seats;
  readonly #sequences = new Set<Sequence>();

  constructor(parts: LlamaModelParts) {
    const { weights } = parts;
    const source = weights.fileInfo.metadata.tokenizer.chat_template;
    const layout = layoutOf(source, { bos: weights.tokens.bosString ?? '', eos: weights.tokens.eosString ?? '' });
    this.#parts = parts;
    this.#vocabulary = new Vocabulary(weights);
    this.#template = new PromptTemplate(layout, this.#vocabulary);
    this.#seats = new Seats(parts.context);
    this.contextSize = parts.contextSize;
    this.detectedFormat = detectFormat(source ?? '', this.#vocabulary);
    this.notes = [...parts.notes, ...layout.notes];
    this.overhead = this.#measureOverhead();
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map((text) => this.#vocabulary.plain(text).length);
  }

  openSequence(): Sequence {
    const sequence = new LlamaSequence({
      seats: this.#seats,
      template: this.#template,
      vocabulary: this.#vocabulary,
      contextSize: this.contextSize,
      chunk: this.#parts.context.batchSize,
      onClose: (closed) => this.#sequences.delete(closed),
    });
    this.#sequences.add(sequence);
    return sequence;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    await this.#parts.context.dispose();
    await this.#parts.weights.dispose();
    this.#parts.onClose(this);
  }

  #measureOverhead(): Model['overhead'] {
    const ask = { role: 'user', text: 'Which?' } as const;
    const answer = { role: 'assistant', text: 'This.' } as const;
    const size = (messages: Prompt['messages']): number => {
      const texts = messages.reduce((sum, { text }) => sum + this.#vocabulary.plain(text).length, 0);
      return this.#template.tokens(this.#template.render({ messages })).length - texts;
    };
    const one = size([ask]);
    const message = Math.max(0, Math.ceil((size([ask, answer, ask]) - one) / 2));
    return { message, prompt: Math.max(0, one - message) };
  }
}
