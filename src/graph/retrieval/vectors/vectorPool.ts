import type { EmbeddingPrefixes } from '../../../inference/contract/model.ts';
import { createHash } from 'node:crypto';
import { neverAborted } from '../../../base/abort.ts';
import { createYielder } from '../../../base/eventLoop.ts';
import type { Model } from '../../../inference/contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { Log } from '../../../base/log.ts';
import { memoized } from '../../../base/memoized.ts';
import { stateOf, type StringStorage } from '../../storage/stringStorage.ts';
import type { RankedEntry, VectorRequest, VectorSearch } from '../ranking.ts';
import { findNearestGroups } from './nearestGroups.ts';
import { findNearest, type VectorMatrix } from './vectorMatrix.ts';
import type { Embedder, ReadyVectors, VectorProgress, VectorReport } from './storageVectors.ts';
import { StorageVectors } from './storageVectors.ts';
import type { VectorStore } from './vectorStore.ts';

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
}

/** A storage, and what computes its vectors. */
interface EmbeddedSource extends VectorSource, Embedder {
  readonly embedding: NonNullable<Model['embedding']>;
}

/** A use of the vectors of one state of a storage. */
interface VectorsUse extends Disposable {
  readonly vectors: StorageVectors;
  readonly computed: Promise<ReadyVectors>;
}

interface PooledVectors {
  readonly vectors: StorageVectors;
  /** The storage that has asked for them first. */
  readonly whole: StringStorage;
  /** What of the model they depend on. */
  readonly made: string;
  idleTimer: NodeJS.Timeout | undefined;
}

/** The vectors of all storages of a server: computed once, and shared by all that search the same texts with the same model. */
export class VectorPool implements AsyncDisposable {
  readonly #options: VectorPoolOptions;
  readonly #pooled = new Map<string, PooledVectors>();

  constructor(options: VectorPoolOptions) {
    this.#options = options;
  }

  /** Opens the vectors of a storage, or begins to compute them. @throws Fault INVALID_PARAM_VALUE: no embeddings. */
  async open(source: VectorSource): Promise<OpenVectors> {
    const { storage, model, modelName, prefixes } = source;
    const { embedding } = model;
    const embed = model.embed?.bind(model);
    if (!embedding || !embed)
      throw new Fault('INVALID_PARAM_VALUE', `the engine of "${modelName}" has no embeddings; name another model`);
    const { dimensions } = embedding;
    const use = (state: StringStorage): Promise<VectorsUse> => this.#use({ ...source, embedding, embed }, state);
    let kept = await use(stateOf(storage));
    const computed = kept.computed.then(({ report }) => report);
    // Those who search are told what cannot be computed.
    computed.then(this.#options.listener?.onReady, () => undefined);
    let isOpen = true;
    let following: Promise<unknown> = Promise.resolve();
    const follow = async (): Promise<void> => {
      if (!isOpen) return;
      const next = await use(stateOf(storage));
      // Closed meanwhile, it has closed `kept`.
      (isOpen ? kept : next)[Symbol.dispose]();
      if (isOpen) kept = next;
    };
    const compare = async (
      prefix: string,
      { state = stateOf(storage), query, signal = neverAborted() }: Pick<VectorRequest, 'state' | 'query' | 'signal'>,
      find: (matrix: VectorMatrix, vector: Float32Array) => Promise<readonly RankedEntry[]>,
    ) => {
      using used = await use(state);
      const [{ matrix }, { vectors }] = await Promise.all([
        used.vectors.ready(signal),
        embed([prefix + query], { signal, truncate: true }),
      ]);
      return await find(matrix, vectors[0] ?? new Float32Array(dimensions));
    };
    const stopFollowing = storage.onChange?.(() => void (following = following.then(follow)));
    return {
      computed,
      search: (request) => compare(prefixes.query, request, (...pair) => findNearest(...pair, request)),
      nearestGroups: (request) => compare(prefixes.document, request, (...pair) => findNearestGroups(...pair, request)),
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        stopFollowing?.();
        kept[Symbol.dispose]();
      },
    };
  }

  /** Uses the vectors of one state of a storage until the result is disposed of. */
  async #use(source: EmbeddedSource, state: StringStorage): Promise<VectorsUse> {
    const { storage, embedding, embed, prefixes, modelName } = source;
    const { fingerprint = `${modelName}/${embedding.dimensions}` } = embedding;
    const id = idOf(fingerprint, prefixes.document, await hashTexts(state));
    const pooled = this.#pooled.get(id) ?? this.#create(id, source, state, idOf(fingerprint, prefixes.document, ''));
    this.#pooled.set(id, pooled);
    clearTimeout(pooled.idleTimer);
    const { vectors } = pooled;
    const embedder = { embed };
    const computed = vectors.open(embedder);
    computed.catch(() => undefined);
    return {
      vectors,
      computed,
      [Symbol.dispose]: () => {
        vectors.close(embedder);
        if (vectors.isUsed) return;
        const idleMs = state === stateOf(storage) ? this.#options.idleMs : 0;
        pooled.idleTimer = setTimeout(() => this.#drop(pooled), idleMs).unref();
      },
    };
  }

  /** Vectors that take from those of another state of the storage what they have; that one goes, if nothing needs it. */
  #create(id: string, source: EmbeddedSource, state: StringStorage, made: string): PooledVectors {
    const { storage: whole, name, modelName, prefixes, embedding } = source;
    const { fingerprint, dimensions } = embedding;
    const { log, yieldToTurns = async () => undefined, listener = {} } = this.#options;
    const { onProgress = () => undefined } = listener;
    const former = [...this.#pooled.values()].findLast((other) => other.whole === whole && other.made === made);
    if (former && !former.vectors.isUsed) this.#drop(former);
    const vectors = new StorageVectors({
      id,
      texts: state.list,
      prefix: prefixes.document,
      name,
      model: modelName,
      dimensions,
      store: fingerprint === undefined ? 'its model is not a file' : this.#storeOf(state),
      log,
      yieldToTurns,
      onProgress,
      former: former?.vectors,
    });
    return { vectors, whole, made, idleTimer: undefined };
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

/** The name of vectors: a hash of all that they depend on, in hexadecimal. @param prefix stands before each text. */
const idOf = (model: string, prefix: string, texts: string): string =>
  createHash('sha256')
    .update(JSON.stringify([model, prefix, texts]))
    .digest('hex');

const hashTexts = memoized(async ({ list }: StringStorage): Promise<string> => {
  const yieldToOthers = createYielder();
  const hash = createHash('sha256').update(`${list.length}`);
  for (const text of list) {
    // With its length, so that the texts cannot be divided in another way.
    hash.update(`:${text.length}:${text}`);
    await yieldToOthers();
  }
  return hash.digest('hex');
});
