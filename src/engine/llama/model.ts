import type { LlamaContext, LlamaModel as Weights } from 'node-llama-cpp';
import type { Prompt, ToolBlock } from '../../dialog.ts';
import type { ModelDescription } from '../modelDetails.ts';
import type { Model, ModelFigures, Sequence } from '../engine.ts';
import { describe, type Measured } from './modelDetails.ts';
import type { Beside } from './batching/deferredQueue.ts';
import { detectFormat } from './tokenizer/detectToolFormat.ts';
import { Grammars } from './sampling/grammarCache.ts';
import { layoutOf, type Layout } from './prompt/chatTemplate.ts';
import { Seats } from './kvCache/slots.ts';
import { LlamaSequence } from './sequence.ts';
import type { States } from './kvCache/stateSwap.ts';
import { PromptTemplate } from './prompt/promptRenderer.ts';
import { Vocabulary } from './tokenizer/tokenizer.ts';

export interface LlamaModelParts extends Measured {
  readonly weights: Weights;
  readonly context: LlamaContext;
  readonly beside: Beside;
  readonly states: States | undefined;
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
  readonly #layout: Layout;
  readonly #template: PromptTemplate;
  readonly #grammars: Grammars;
  readonly #seats: Seats;
  readonly #sequences = new Set<Sequence>();
  #closed: Promise<void> | undefined;

  constructor(parts: LlamaModelParts) {
    const { weights } = parts;
    const source = weights.fileInfo.metadata.tokenizer.chat_template;
    const layout = layoutOf(source, { bos: weights.tokens.bosString ?? '', eos: weights.tokens.eosString ?? '' });
    this.#parts = parts;
    this.#vocabulary = new Vocabulary(weights);
    this.#layout = layout;
    this.#template = new PromptTemplate(layout, this.#vocabulary);
    this.#grammars = new Grammars(weights);
    this.#seats = new Seats(parts.context);
    this.contextSize = parts.contextSize;
    this.detectedFormat = detectFormat(source ?? '', this.#vocabulary);
    this.notes = [...parts.notes, ...layout.notes];
    this.overhead = this.#measureOverhead();
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map((text) => this.#vocabulary.plain(text).length);
  }

  // Beside a system message of one's own, tools may take less room than where the template has to make one for them.
  async countTools(tools: ToolBlock): Promise<number> {
    const added = [[ask], [rule, ask]].map((messages) => this.#size({ messages, tools }) - this.#size({ messages }));
    return Math.max(0, ...added);
  }

  async render(prompt: Prompt): Promise<string> {
    return this.#template.render(prompt).text;
  }

  openSequence(): Sequence {
    const sequence = new LlamaSequence({
      seats: this.#seats,
      states: this.#parts.states,
      beside: this.#parts.beside,
      template: this.#template,
      vocabulary: this.#vocabulary,
      grammars: this.#grammars,
      contextSize: this.contextSize,
      chunk: this.#parts.context.batchSize,
      onClose: (closed) => this.#sequences.delete(closed),
    });
    this.#sequences.add(sequence);
    return sequence;
  }

  figures(): ModelFigures {
    const { weights, context, states } = this.#parts;
    return {
      backend: weights.gpuLayers > 0 && weights.llama.gpu ? weights.llama.gpu : 'cpu',
      gpuLayers: weights.gpuLayers,
      threads: context.currentThreads,
      ...this.#seats.figures(),
      sequences: this.#sequences.size,
      ...(states?.figures() ?? noStates),
    };
  }

  describe(): Promise<ModelDescription> {
    return describe({ ...this.#parts, layout: this.#layout, vocabulary: this.#vocabulary });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    await this.#parts.context.dispose();
    await this.#parts.weights.dispose();
    this.#parts.onClose(this);
  }

  #measureOverhead(): Model['overhead'] {
    const frame = (messages: Prompt['messages']): number =>
      this.#size({ messages }) - messages.reduce((sum, { text }) => sum + this.#vocabulary.plain(text).length, 0);
    const one = frame([ask]);
    const message = Math.max(0, Math.ceil((frame([ask, answer, ask]) - one) / 2));
    return { message, prompt: Math.max(0, one - message) };
  }

  #size(prompt: Prompt): number {
    return this.#template.tokens(this.#template.render(prompt)).length;
  }
}

const noStates = { statesSaved: 0, statesRestored: 0, stateBytes: 0 };
const rule = { role: 'system', text: 'Choose.' } as const;
const ask = { role: 'user', text: 'Which?' } as const;
const answer = { role: 'assistant', text: 'This.' } as const;
