import type { EmbeddingPrefixes } from '../../../inference/contract/model.ts';
import { createHash } from 'node:crypto';
import { createYielder } from '../../../base/eventLoop.ts';
import type { Model } from '../../../inference/contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { Log } from '../../../base/log.ts';
import type { StringStorage } from '../../storage/stringStorage.ts';
import type { VectorSearch } from '../ranking.ts';
import { findNearest } from './vectorMatrix.ts';
import { StorageVectors, type VectorProgress, type VectorReport } from './storageVectors.ts';
import type { VectorStore } from './vectorStore.ts';

/** Options of a vector pool. */
export interface VectorPoolOptions {
  readonly log: Log;
  /** Where vectors are kept over restarts; absent: nowhere. */
  readonly store?: VectorStore | undefined;
  /** Milliseconds that vectors stay in memory after their last user. */
  readonly idleMs: number;
  /** Waits while turns need the processor; default: not at all. */
  readonly yieldToTurns?: (batchMs: number, signal: AbortSignal) => Promise<void>;
  readonly listener?: VectorListener | undefined;
}

/** Is told of the vectors of storages. */
export interface VectorListener {
  /** Called for each use of the vectors of a storage, once they are there. */
  readonly onReady?: (report: VectorReport) => void;
  /** Called after each batch that is computed. */
  readonly onProgress?: (progress: VectorProgress) => void;
}

/** A storage, and the embedding model that its vectors are computed with. */
export interface VectorSource {
  readonly storage: StringStorage;
  /** What messages call it: a node or a storage. */
  readonly name: string;
  /** The caller keeps it loaded until it closes what it has opened. */
  readonly model: Model;
  readonly modelName: string;
  readonly prefixes: EmbeddingPrefixes;
}

/** The vectors of a storage in use. Disposing of it ends the use. */
export interface OpenVectors extends VectorSearch, Disposable {
  /** Resolves when all vectors are there; rejects with what the model throws, or when the use ends before. */
  readonly computed: Promise<VectorReport>;
  /** Waits until all vectors are there, as a turn does: others do not come first. @throws the reason of the signal; as `computed`. */
  readonly ready: (signal?: AbortSignal) => Promise<VectorReport>;
}

interface PooledVectors {
  readonly vectors: StorageVectors;
  idleTimer: NodeJS.Timeout | undefined;
}

/** The vectors of all storages of a server: computed once, and shared by all that search the same texts with the same model. */
export class VectorPool implements AsyncDisposable {
  readonly #options: VectorPoolOptions;
  readonly #pooled = new Map<string, PooledVectors>();

  constructor(options: VectorPoolOptions) {
    this.#options = options;
  }

  /**
   * Opens the vectors of a storage, and begins to compute them if they are not there.
   * @throws Fault INVALID_PARAM_VALUE when the engine of the model has no embeddings.
   */
  async open(source: VectorSource): Promise<OpenVectors> {
    const { storage, model, modelName, prefixes } = source;
    const { embedding } = model;
    const embed = model.embed?.bind(model);
    if (!embedding || !embed)
      throw new Fault('INVALID_PARAM_VALUE', `the engine of "${modelName}" has no embeddings; name another model`);
    const { fingerprint, dimensions } = embedding;
    const id = await vectorsId(storage.list, fingerprint ?? `${modelName}/${dimensions}`, prefixes.document);
    const pooled = this.#pooled.get(id) ?? { vectors: this.#vectorsOf(id, source, embedding), idleTimer: undefined };
    this.#pooled.set(id, pooled);
    clearTimeout(pooled.idleTimer);
    const { vectors } = pooled;
    const embedder = { embed };
    const computed = vectors.open(embedder).then(({ report }) => report);
    // Those who search are told what cannot be computed.
    computed.then(this.#options.listener?.onReady, () => undefined);
    let isOpen = true;
    return {
      computed,
      ready: async (signal) => (await vectors.ready(signal)).report,
      async search({ query, signal = new AbortController().signal, ...request }) {
        const [{ matrix }, vector] = await Promise.all([
          vectors.ready(signal),
          embed([prefixes.query + query], { signal, truncate: true }),
        ]);
        return findNearest(matrix, vector.vectors[0] ?? new Float32Array(dimensions), { ...request, signal });
      },
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        vectors.close(embedder);
        if (!vectors.isUsed) pooled.idleTimer = setTimeout(() => this.#drop(pooled), this.#options.idleMs).unref();
      },
    };
  }

  #vectorsOf(
    id: string,
    { storage, name, modelName, prefixes }: VectorSource,
    { fingerprint, dimensions }: NonNullable<Model['embedding']>,
  ): StorageVectors {
    const { log, yieldToTurns = async () => undefined, listener = {} } = this.#options;
    const { onProgress = () => undefined } = listener;
    return new StorageVectors({
      id,
      texts: storage.list,
      prefix: prefixes.document,
      name,
      model: modelName,
      dimensions,
      store: fingerprint === undefined ? 'its model is not a file' : this.#storeOf(storage),
      log,
      yieldToTurns,
      onProgress,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#pooled.values()];
    for (const pooled of all) {
      pooled.vectors.stop();
      this.#drop(pooled);
    }
    await Promise.all(all.map(({ vectors }) => vectors.ended()));
  }

  #drop({ vectors, idleTimer }: PooledVectors): void {
    clearTimeout(idleTimer);
    this.#pooled.delete(vectors.id);
    this.#options.store?.release(vectors.id);
  }

  #storeOf({ isOfClient }: StringStorage): VectorStore | string {
    if (isOfClient) return 'a client has sent its texts, and nothing of them is written to disk';
    return this.#options.store ?? 'there is no cache folder that can be written, or --cache-limit is 0';
  }
}

/**
 * The name of the vectors of some texts: a hash of the texts and of all that their vectors depend on, in hexadecimal.
 * @param model the fingerprint of the model.
 * @param prefix stands before each text.
 */
async function vectorsId(texts: readonly string[], model: string, prefix: string): Promise<string> {
  const yieldToOthers = createYielder();
  const hash = createHash('sha256').update(JSON.stringify([model, prefix, texts.length]));
  for (const text of texts) {
    // With its length, so that the texts cannot be divided in another way.
    hash.update(`${text.length}:`).update(text);
    await yieldToOthers();
  }
  return hash.digest('hex');
}
