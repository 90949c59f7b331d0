import type { LlamaEmbeddingContext, LlamaModel as Weights, Token } from 'node-llama-cpp';
import {
  DialoglessModel,
  type EmbeddingFacts,
  type Embeddings,
  type EmbedOptions,
  normalizeVector,
  textTooLong,
} from '../../contract/model.ts';
import { EitherSignal, track } from '../../../base/abort.ts';
import { SlotQueue } from '../../decoding/slotQueue.ts';
import { describeError, Fault } from '../../../protocol/fault.ts';
import type { Model } from '../../contract/engine.ts';
import { noStats, type ModelMemory, type ModelStats } from '../../contract/memory.ts';

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
export class LlamaEmbeddingModel extends DialoglessModel implements Model {
  readonly contextSize: number;
  readonly notes: readonly string[];
  readonly embedding: EmbeddingFacts;
  readonly #parts: EmbeddingModelParts;
  readonly #tokenizer: EmbeddingTokenizer;
  /** For the texts: of those that wait the one with the highest priority is next, and of equal ones the first. */
  readonly #queue = new SlotQueue(
    () => (this.#isBusy ? undefined : (this.#isBusy = true)),
    () => 0,
  );
  #isBusy = false;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(parts: EmbeddingModelParts) {
    const { weights, context, contextSize, fingerprint, notes } = parts;
    super();
    this.#parts = parts;
    this.contextSize = contextSize;
    this.notes = notes;
    this.embedding = { dimensions: weights.embeddingVectorSize, fingerprint };
    this.#tokenizer = new EmbeddingTokenizer(weights, context, contextSize);
  }

  embed(texts: readonly string[], options: EmbedOptions): Promise<Embeddings> {
    return track(this.#running, this.#embed(texts, options));
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map((text) => this.#tokenizer.count(text));
  }

  stats(): ModelStats {
    const { weights, memory, threads } = this.#parts;
    return {
      ...noStats,
      backend: weights.gpuLayers > 0 && weights.llama.gpu ? weights.llama.gpu : 'cpu',
      gpuLayers: weights.gpuLayers,
      prefillThreads: threads,
      slots: 1,
      slotsBusy: this.#parts.progress.running ? 1 : 0,
      waiting: Math.max(0, this.#running.size - 1),
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
      const turn = await this.#queue.acquire({ owner: this, prompt: [], priority }, abort.signal);
      try {
        abort.signal.throwIfAborted();
        const { tokens, total, isCut } = this.#tokenizer.tokens(text, index, truncate);
        if (isCut) truncated.push(index);
        counts.push(total);
        vectors.push(total === 0 ? new Float32Array(this.embedding.dimensions) : await this.#evaluate([...tokens]));
      } catch (error) {
        throw this.#reasonOf(error, signal);
      } finally {
        if (turn) this.#isBusy = false;
        this.#queue.serve();
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

/** The tokens of a text for an embedding. */
interface EmbeddingTokens {
  /** Without those that the model puts around it. */
  readonly tokens: readonly Token[];
  /** With them. */
  readonly total: number;
  readonly isCut: boolean;
}

/** A text with more characters than this for each token of the context is not tokenized as a whole. */
const maxCharactersPerToken = 32;

/** Makes tokens of texts, at most as many as fit in the context of an embedding model. */
class EmbeddingTokenizer {
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
