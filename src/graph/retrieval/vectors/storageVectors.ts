import type { Embeddings, EmbedOptions } from '../../../inference/contract/model.ts';
import type { VectorMatrix } from './vectorMatrix.ts';
import type { SavedVectors } from './vectorFile.ts';
import { raceAbort } from '../../../base/abort.ts';
import { createYielder } from '../../../base/eventLoop.ts';
import { describeError, Fault } from '../../../protocol/fault.ts';
import type { Log } from '../../../base/log.ts';
import type { VectorStore } from './vectorStore.ts';

/** Computes vectors: the part of a loaded embedding model that searches need. */
export interface Embedder {
  embed(texts: readonly string[], options: EmbedOptions): Promise<Embeddings>;
}

export interface VectorReport {
  /** The node or the storage that has asked for them first. */
  readonly name: string;
  readonly model: string;
  readonly texts: number;
  /** How many of the texts are longer than the model reads. */
  readonly truncated: number;
  /** Whether they were in the cache folder. */
  readonly isRestored: boolean;
  /** Why they are not in the cache folder; undefined: they are. */
  readonly unsaved: string | undefined;
}

export interface VectorProgress extends Pick<VectorReport, 'name' | 'model' | 'texts'> {
  readonly done: number;
}

export interface StorageVectorsOptions {
  /** Their name: a hash of all that they depend on. */
  readonly id: string;
  readonly texts: readonly string[];
  /** Stands before each text. */
  readonly prefix: string;
  readonly name: string;
  readonly model: string;
  readonly dimensions: number;
  /** Where they are kept, or why they are not. */
  readonly store: VectorStore | string;
  readonly log: Log;
  /** Waits while turns need the processor; called between batches with the milliseconds that the last one took. */
  readonly yieldToTurns: (batchMs: number, signal: AbortSignal) => Promise<void>;
  /** Called after each batch. */
  readonly onProgress: (progress: VectorProgress) => void;
  /** Those of another state of the storage: what they have is not computed again. */
  readonly former?: StorageVectors | undefined;
}

export interface ReadyVectors {
  readonly matrix: VectorMatrix;
  readonly report: VectorReport;
}

const logIntervalMs = 10_000;
/** A batch ends within a tenth of a second with most models on most machines. */
const textsPerBatch = 8;

/** The vectors of one storage and one model: read from the cache folder or computed, while they are used. */
export class StorageVectors {
  readonly id: string;
  readonly #options: Omit<StorageVectorsOptions, 'former'>;
  /** The models of its users: the same one, unless it was loaded again in between. */
  readonly #embedders: Embedder[] = [];
  #draft: VectorDraft | undefined;
  #former: StorageVectors | undefined;
  #working: Promise<ReadyVectors> | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #abort = new AbortController();
  /** Searches that wait for the vectors. */
  #waiting = 0;

  constructor({ former, ...options }: StorageVectorsOptions) {
    this.id = options.id;
    this.#options = options;
    // One that was replaced before it had any has those of the one before it.
    this.#former = former && (former.#draft ? former : former.#former);
  }

  /** Whether it has users. */
  get isUsed(): boolean {
    return this.#embedders.length > 0;
  }

  /** Adds a user, and begins to compute what is missing. @returns as `ready`. */
  open(embedder: Embedder): Promise<ReadyVectors> {
    this.#embedders.push(embedder);
    return this.#vectors();
  }

  /** Removes a user. Without users the computation stops, and goes on with the next user. */
  close(embedder: Embedder): void {
    this.#embedders.splice(this.#embedders.indexOf(embedder), 1);
    if (!this.isUsed) this.stop();
  }

  /** Stops the computation after the batch under way. What is computed stays. */
  stop(): void {
    this.#abort.abort(new Fault('INFERENCE_FAILED', 'nothing needs the vectors any more'));
    this.#abort = new AbortController();
    if (!this.#draft || this.#draft.missing.length > 0) this.#working = undefined;
  }

  /** The vectors, when all are there; a turn waits for them. @throws the reason of the signal; what the model throws. */
  async ready(signal: AbortSignal | undefined): Promise<ReadyVectors> {
    this.#waiting++;
    try {
      return await raceAbort(this.#vectors(), signal);
    } finally {
      this.#waiting--;
    }
  }

  /** Resolves when nothing is computed any more. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  #vectors(): Promise<ReadyVectors> {
    if (this.#working) return this.#working;
    const working = this.#work(this.#ended, this.#abort.signal);
    this.#working = working;
    this.#ended = working.catch((error: unknown) => {
      if (this.#working === working) this.#working = undefined;
      const { log, name, model } = this.#options;
      if (!this.#abort.signal.aborted && this.isUsed)
        log.error(
          { vectorsOf: name, model, why: describeError(error) },
          'the vectors of a storage could not be computed',
        );
    });
    return working;
  }

  async #work(previous: Promise<unknown>, signal: AbortSignal): Promise<ReadyVectors> {
    await previous;
    signal.throwIfAborted();
    const { id, texts, dimensions, store } = this.#options;
    const expected = { id, texts: texts.length, dimensions };
    const restored = typeof store === 'string' || this.#draft ? undefined : await store.read(expected);
    if (restored) {
      this.#draft = { ...restored, missing: [] };
      return this.#toReady(this.#draft, true, undefined);
    }
    const draft = (this.#draft ??= await this.#createDraft());
    // Kept any longer, each state would keep all before it.
    this.#former = undefined;
    await this.#compute(draft, signal);
    return this.#toReady(draft, false, typeof store === 'string' ? store : await store.write(id, draft));
  }

  /** A draft with the vectors of the texts that another state has. */
  async #createDraft(): Promise<VectorDraft> {
    const { texts, dimensions } = this.#options;
    const yieldToOthers = createYielder();
    const values = new Float32Array(texts.length * dimensions);
    const rows = new Map<string, number>();
    const former = this.#former && this.#former.#draft;
    const unknown = new Set(former?.missing);
    for (const [row, text] of former && this.#former ? this.#former.#options.texts.entries() : [])
      if (!unknown.has(row)) rows.set(text, row * dimensions);
    const missing: number[] = [];
    for (const [index, text] of texts.entries()) {
      const start = rows.get(text);
      if (start === undefined) missing.push(index);
      else values.set(former?.matrix.values.subarray(start, start + dimensions) ?? [], index * dimensions);
      await yieldToOthers();
    }
    return { matrix: { values, dimensions }, missing, truncated: 0 };
  }

  /** Computes the vectors that a draft lacks, in batches that give way to turns. A draft that was interrupted is continued. */
  async #compute(draft: VectorDraft, signal: AbortSignal): Promise<void> {
    const { texts, name, model, log, yieldToTurns, onProgress } = this.#options;
    const started = performance.now();
    let loggedAt = started;
    const facts = { vectorsOf: name, model, texts: texts.length };
    const level = draft.missing.length > textsPerBatch ? 'info' : 'debug';
    log[level](facts, 'the vectors of a storage are being computed');
    while (draft.missing.length > 0) {
      signal.throwIfAborted();
      const batchStarted = performance.now();
      await this.#computeBatch(draft, signal);
      const done = texts.length - draft.missing.length;
      onProgress({ name, model, texts: texts.length, done });
      if (performance.now() - loggedAt >= logIntervalMs) {
        loggedAt = performance.now();
        log.info({ ...facts, done }, 'the vectors of a storage are being computed');
      }
      // Of a search that waits a turn is waiting, too.
      if (draft.missing.length > 0 && this.#waiting === 0) await yieldToTurns(performance.now() - batchStarted, signal);
    }
    log[level]({ ...facts, ms: Math.round(performance.now() - started) }, 'the vectors of a storage are computed');
  }

  async #computeBatch(draft: VectorDraft, signal: AbortSignal): Promise<void> {
    const { texts, prefix } = this.#options;
    const { values, dimensions } = draft.matrix;
    const embedder = this.#embedders.at(-1);
    if (!embedder) throw signal.reason;
    const indexes = draft.missing.slice(0, textsPerBatch);
    const batch = indexes.map((index) => prefix + (texts[index] ?? ''));
    const { vectors, truncated } = await embedder.embed(batch, { priority: 'BACKGROUND', signal, truncate: true });
    for (const [at, index] of indexes.entries()) values.set(vectors[at] ?? [], index * dimensions);
    draft.missing.splice(0, indexes.length);
    draft.truncated += truncated.length;
  }

  #toReady({ matrix, truncated }: VectorDraft, isRestored: boolean, unsaved: string | undefined): ReadyVectors {
    const { texts, name, model, store, log } = this.#options;
    if (truncated > 0)
      log.warn(
        { vectorsOf: name, model, texts: truncated },
        'texts are longer than the embedding model reads: only their beginnings count',
      );
    if (unsaved !== undefined && typeof store !== 'string')
      log.warn({ vectorsOf: name, model, why: unsaved }, 'the vectors of a storage could not be saved');
    return { matrix, report: { name, model, texts: texts.length, truncated, isRestored, unsaved } };
  }
}

interface VectorDraft extends SavedVectors {
  /** The indexes of the texts whose vectors are not computed yet. */
  readonly missing: number[];
  truncated: number;
}
