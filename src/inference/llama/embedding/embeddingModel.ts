import type { LlamaEmbeddingContext, LlamaModel as Weights } from 'node-llama-cpp';
import { EitherSignal } from '../../../base/abort.ts';
import { Fault, describeError } from '../../../protocol/fault.ts';
import { noDialect } from '../../../chat/dialect/toolDialect.ts';
import { defaultReplyMarks } from '../../../chat/replyMarks.ts';
import {
  generatesNothing,
  normalizeVector,
  type EmbeddingFacts,
  type EmbedOptions,
  type Embeddings,
} from '../../contract/model.ts';
import type { Model, ModelStats, Sequence } from '../../contract/engine.ts';
import type { ModelMemory } from '../../contract/memory.ts';
import { EmbeddingTokenizer } from './embeddingTokens.ts';
import { StepQueue } from './stepQueue.ts';

/** What an embedding model is made of. It owns and disposes `weights` and `context`. */
export interface EmbeddingModelParts {
  readonly weights: Weights;
  readonly context: LlamaEmbeddingContext;
  /** Tokens. */
  readonly contextSize: number;
  /** See `EmbeddingFacts`. */
  readonly fingerprint: string;
  readonly threads: number;
  readonly memory: ModelMemory;
  /** Warnings for the user. */
  readonly notes: readonly string[];
  /** Counts the texts that are evaluated, for a watchdog. */
  readonly progress: { running: boolean; ended: number };
  readonly onClose: (model: Model) => unknown;
}

/** A loaded embedding model. It evaluates one text at a time. */
export class LlamaEmbeddingModel implements Model {
  readonly contextSize: number;
  readonly toolDialect = noDialect('an embedding model has no chat template');
  readonly replyMarks = defaultReplyMarks;
  readonly canSpeculate = false;
  readonly overhead = { prompt: 0, message: 0 };
  readonly notes: readonly string[];
  readonly embedding: EmbeddingFacts;
  readonly #parts: EmbeddingModelParts;
  readonly #tokenizer: EmbeddingTokenizer;
  readonly #steps = new StepQueue();
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(parts: EmbeddingModelParts) {
    const { weights, context, contextSize, fingerprint, notes } = parts;
    this.#parts = parts;
    this.contextSize = contextSize;
    this.notes = notes;
    this.embedding = { dimensions: weights.embeddingVectorSize, fingerprint };
    this.#tokenizer = new EmbeddingTokenizer(weights, context, contextSize);
  }

  embed(texts: readonly string[], options: EmbedOptions): Promise<Embeddings> {
    const running = this.#embed(texts, options).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map((text) => this.#tokenizer.count(text));
  }

  countTools(): Promise<number> {
    return Promise.reject(generatesNothing());
  }

  render(): Promise<string> {
    return Promise.reject(generatesNothing());
  }

  openSequence(): Sequence {
    throw generatesNothing();
  }

  stats(): ModelStats {
    const { weights, memory, threads } = this.#parts;
    return {
      backend: weights.gpuLayers > 0 && weights.llama.gpu ? weights.llama.gpu : 'cpu',
      gpuLayers: weights.gpuLayers,
      threads: 0,
      prefillThreads: threads,
      slots: 1,
      slotsBusy: this.#parts.progress.running ? 1 : 0,
      waiting: Math.max(0, this.#running.size - 1),
      sequences: 0,
      checkpointBytes: 0,
      statesSaved: 0,
      statesRestored: 0,
      promptsRestored: 0,
      stateBytes: 0,
      memory,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closing.abort(new Fault('INFERENCE_FAILED', 'the embedding model was unloaded'));
    await Promise.allSettled(this.#running);
    await this.#parts.weights.dispose();
    this.#parts.onClose(this);
  }

  async #embed(texts: readonly string[], { priority = 'NORMAL', signal, truncate = false }: EmbedOptions) {
    using abort = new EitherSignal([signal, this.#closing.signal]);
    const vectors: Float32Array[] = [];
    const counts: number[] = [];
    const truncated: number[] = [];
    for (const [index, text] of texts.entries()) {
      const step = async (): Promise<void> => {
        const { tokens, total, isCut } = this.#tokenizer.tokens(text, index, truncate);
        if (isCut) truncated.push(index);
        counts.push(total);
        vectors.push(total === 0 ? new Float32Array(this.embedding.dimensions) : await this.#evaluate([...tokens]));
      };
      try {
        await this.#steps.run(step, priority, abort.signal);
      } catch (error) {
        throw this.#reasonOf(error, signal);
      }
    }
    return { vectors, tokens: counts, truncated };
  }

  #reasonOf(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (this.#closing.signal.aborted) return this.#closing.signal.reason;
    if (error instanceof Fault) return error;
    return new Fault('INFERENCE_FAILED', `the embedding failed: ${describeError(error)}`, { cause: error });
  }

  async #evaluate(tokens: Parameters<LlamaEmbeddingContext['getEmbeddingFor']>[0]): Promise<Float32Array> {
    const { context, progress } = this.#parts;
    progress.running = true;
    try {
      const { vector } = await context.getEmbeddingFor(tokens);
      return normalizeVector(Float32Array.from(vector));
    } finally {
      progress.running = false;
      progress.ended++;
    }
  }
}
