import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { getModuleVersion, type LlamaModel as Weights, type LlamaEmbeddingContext } from 'node-llama-cpp';
import { availableParallelism } from 'node:os';
import type { EmbeddingFacts, Embeddings, EmbedOptions } from '../../contract/model.ts';
import { splitFileNames, DialoglessModel, normalizeVector, textTooLong } from '../../contract/model.ts';
import { fileChecksum } from '../cacheFiles.ts';
import { Fault, describeError } from '../../../protocol/fault.ts';
import type { Model } from '../../contract/engine.ts';
import { contextMemoryOf, embeddingShape, fitLoadedContext, type LoadedWeights } from '../contextMemory.ts';
import type { OwnLoadOptions } from '../createContext.ts';
import { poolings } from '../gguf/metadata.ts';
import { EitherSignal, track } from '../../../base/abort.ts';
import { SlotQueue } from '../../decoding/slotQueue.ts';
import { noStats, type ModelMemory, type ModelStats } from '../../contract/memory.ts';

/** Creates the context of an embedding model. @throws Fault MODEL_LOAD_FAILED */
export async function loadEmbeddingModel(own: LoadedWeights, options: OwnLoadOptions): Promise<Model> {
  const { weights } = own;
  const { signal } = options;
  assertPooling(weights);
  const { contextSize, slot, notes } = await fitLoadedContext(own, options);
  // Half of the cores: what is embedded ahead of time is not to take the time of turns.
  const threads = options.threads || Math.max(1, Math.floor(availableParallelism() / 2));
  const context = await weights.createEmbeddingContext({
    ...embeddingShape(contextSize),
    threads,
    ...(signal && { createSignal: signal }),
  });
  const progress = { running: false, ended: 0 };
  options.onBatches?.({ batchTimer: progress, chunkMs: () => undefined });
  return new LlamaEmbeddingModel({
    ...own,
    context,
    contextSize,
    fingerprint: await embeddingFingerprint(weights, own.file.file, contextSize),
    threads,
    progress,
    memory: { weights: own.weightMemory, context: await contextMemoryOf(own), slot },
    notes: [...notes, ...own.notes],
  });
}

/** Only a file that names its pooling is an embedding model. */
function assertPooling({ fileInfo }: Weights): void {
  const pooling: unknown = Object(fileInfo.architectureMetadata).pooling_type;
  if (poolings.has(pooling)) return;
  const why = pooling === 4 ? 'it ranks documents' : 'its file names no pooling';
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `${why}, so it is no embedding model: remove "purpose" from its entry in models.json, or use another file`,
  );
}

/** What vectors depend on apart from the texts, hashed: the files, the context size, the engine's release. */
async function embeddingFingerprint({ llama }: Weights, file: string, contextSize: number): Promise<string> {
  const names = splitFileNames(basename(file));
  const checksums = await Promise.all(names.map((name) => fileChecksum(join(dirname(file), name))));
  const engine = [await getModuleVersion(), llama.llamaCppRelease.release];
  return createHash('sha256')
    .update(JSON.stringify([checksums, embeddingShape(contextSize), engine]))
    .digest('hex');
}

/** What an embedding model is made of. It owns and disposes `weights` and `context`. */
interface EmbeddingModelParts extends Pick<LoadedWeights, 'weights' | 'notes' | 'onClose'> {
  readonly context: LlamaEmbeddingContext;
  /** Tokens. */
  readonly contextSize: number;
  /** See `EmbeddingFacts`. */
  readonly fingerprint: string;
  readonly threads: number;
  readonly memory: ModelMemory;
  /** Counts the texts that are evaluated, for a watchdog. */
  readonly progress: { running: boolean; ended: number };
}

/** A loaded embedding model. It evaluates one text at a time. */
class LlamaEmbeddingModel extends DialoglessModel implements Model {
  readonly contextSize: number;
  readonly notes: readonly string[];
  readonly embedding: EmbeddingFacts;
  readonly #parts: EmbeddingModelParts;
  readonly #tokenizer: ReturnType<typeof embeddingTokenizer>;
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
    const { weights, contextSize, fingerprint, notes } = parts;
    super();
    this.#parts = parts;
    this.contextSize = contextSize;
    this.notes = notes;
    this.embedding = { dimensions: weights.embeddingVectorSize, fingerprint };
    this.#tokenizer = embeddingTokenizer(parts);
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
        const { tokens, total, isCut } = this.#tokenizer.tokensOf(text, index, truncate);
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

/** A text with more characters than this for each token of the context is not tokenized as a whole. */
const maxCharactersPerToken = 32;

/** Makes tokens of texts, at most as many as fit in the context of an embedding model. */
function embeddingTokenizer({ weights, context, contextSize }: EmbeddingModelParts) {
  // What the model puts around each text.
  const added = context.calculateInputLength([]);
  // Of a letter that has a decomposition, llama.cpp's WordPiece keeps only the first part: of a Hangul syllable its consonant.
  const isDecomposed = weights.fileInfo.metadata.tokenizer.ggml.model === 'bert';
  const tokenize = (text: string) => {
    const limit = contextSize * maxCharactersPerToken;
    const isPart = text.length > limit;
    const part = isPart ? text.slice(0, limit) : text;
    return { tokens: weights.tokenize(isDecomposed ? part.normalize('NFD') : part, false), isPart };
  };
  const count = (text: string): number => {
    const { tokens, isPart } = tokenize(text);
    return isPart ? Math.max(tokens.length, contextSize + 1) : tokens.length;
  };
  /** `total` counts what the model puts around it, too. @throws Fault PROMPT_TOO_LARGE if not to be cut. */
  const tokensOf = (text: string, index: number, truncate: boolean) => {
    const { tokens, isPart } = tokenize(text);
    const room = contextSize - added;
    const isCut = isPart || tokens.length > room;
    if (isCut && !truncate) {
      const size = isPart ? `${text.length} characters` : `${tokens.length + added} tokens`;
      throw textTooLong(index, size, contextSize);
    }
    const kept = tokens.slice(0, room);
    return { tokens: kept, total: kept.length === 0 ? 0 : kept.length + added, isCut };
  };
  return { count, tokensOf };
}
