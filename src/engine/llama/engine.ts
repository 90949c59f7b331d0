import type { Engine, LoadOptions, Model } from '../engine.ts';
import { LlamaInstancePool } from './llamaInstances.ts';
import { loadModel } from './loadModel.ts';
import { StateStore } from './kvCache/stateStore.ts';
import { ThreadTimingsCache } from './threads/threadTimingsCache.ts';

/** Where an engine keeps what it can do without. */
export interface StateCacheOptions {
  /** Folder of sequences' states and of what was measured. */
  readonly folder: string;
  /** Bytes of states; 0 = none are kept. */
  readonly limit: number;
}

/** The engine that runs GGUF files with llama.cpp in this process; without a cache it remembers nothing on disk. */
export function llamaEngine(cache?: StateCacheOptions): Engine {
  return new LlamaEngine(cache);
}

class LlamaEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #libraries = new LlamaInstancePool();
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<Model>>();
  readonly #closing = new AbortController();
  readonly #states: StateStore | undefined;
  readonly #memory: ThreadTimingsCache | undefined;
  #failed = false;

  constructor(cache: StateCacheOptions | undefined) {
    if (!cache) return;
    this.#memory = new ThreadTimingsCache(cache.folder);
    this.#states = new StateStore(cache.folder, cache.limit);
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
    using either = new EitherSignal([options.signal, this.#closing.signal]);
    try {
      const model = await loadModel(
        file,
        { ...options, signal: either.signal },
        {
          instances: this.#libraries,
          stateStore: this.#states,
          timingsCache: this.#memory,
          onClose: (closed) => this.#models.delete(closed),
        },
      );
      this.#models.add(model);
      return model;
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#loading);
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    await this.#states?.[Symbol.asyncDispose]();
    // A load that failed leaves a handle behind in the library, for whose release this would wait forever.
    if (!this.#failed) await this.#libraries.dispose();
  }
}

/** A signal that is aborted when one of several is; none of them holds it longer than it is used. */
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
