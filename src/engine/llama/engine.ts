import type { Engine, LoadOptions, Model } from '../engine.ts';
import { LlamaInstancePool } from './llamaInstances.ts';
import { loadModel } from './loadModel.ts';
import { StateStore } from './kvCache/stateStore.ts';
import { ThreadTimingsCache } from './threads/threadTimingsCache.ts';

/** The cache folder of an engine. What is in it can be deleted at any time. */
export interface CacheFolderOptions {
  /** Folder of swapped KV states and of thread benchmarks. */
  readonly folder: string;
  /** Quota of KV states; 0 = no swap to disk. */
  readonly maxStateBytes: number;
}

/** Creates the llama.cpp engine: runs GGUF models in this process. Without a cache folder it writes nothing to disk. */
export function llamaEngine(cache?: CacheFolderOptions): Engine {
  return new LlamaEngine(cache);
}

class LlamaEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #instances = new LlamaInstancePool();
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<Model>>();
  readonly #closing = new AbortController();
  readonly #stateStore: StateStore | undefined;
  readonly #timingsCache: ThreadTimingsCache | undefined;
  #hasLoadFailed = false;

  constructor(cache: CacheFolderOptions | undefined) {
    if (!cache) return;
    this.#timingsCache = new ThreadTimingsCache(cache.folder);
    this.#stateStore = new StateStore(cache.folder, cache.maxStateBytes);
  }

  async load(file: string, options: LoadOptions): Promise<Model> {
    const loading = this.#load(file, options);
    this.#loading.add(loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(loading);
    }
  }

  async #load(file: string, options: LoadOptions): Promise<Model> {
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    try {
      const model = await loadModel(
        file,
        { ...options, signal: abort.signal },
        {
          instances: this.#instances,
          stateStore: this.#stateStore,
          timingsCache: this.#timingsCache,
          onClose: (closed) => this.#models.delete(closed),
        },
      );
      this.#models.add(model);
      return model;
    } catch (error) {
      this.#hasLoadFailed = true;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#loading);
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    await this.#stateStore?.[Symbol.asyncDispose]();
    // A failed load leaves an open handle in node-llama-cpp: disposing the instance would wait for it for ever.
    if (!this.#hasLoadFailed) await this.#instances.dispose();
  }
}

/**
 * A signal that is aborted when one of several is, until it is disposed. Not AbortSignal.any: a long-lived source signal
 * (here the engine's own) keeps every signal derived from it that has a listener, as long as it lives. That would be one
 * for each model load, and so would a plain listener on the source that is not removed: after ten loads Node warned of it.
 */
class EitherSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#signals) signal.addEventListener('abort', this.#abort);
    if (this.#signals.some(({ aborted }) => aborted)) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort();
}
