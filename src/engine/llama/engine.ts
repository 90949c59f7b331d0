import type { Engine, LoadOptions, Model } from '../engine.ts';
import { Libraries } from './libraries.ts';
import { loadModel } from './loading.ts';
import { StateFolder } from './stateFolder.ts';
import { ThreadMemory } from './threadMemory.ts';

/** Where an engine keeps what it can do without. */
export interface CacheOptions {
  /** Folder of sequences' states and of what was measured. */
  readonly folder: string;
  /** Bytes of states; 0 = none are kept. */
  readonly limit: number;
}

/** The engine that runs GGUF files with llama.cpp in this process; without a cache it remembers nothing on disk. */
export function llamaEngine(cache?: CacheOptions): Engine {
  return new LlamaEngine(cache);
}

class LlamaEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #libraries = new Libraries();
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<Model>>();
  readonly #closing = new AbortController();
  readonly #states: StateFolder | undefined;
  readonly #memory: ThreadMemory | undefined;
  #failed = false;

  constructor(cache: CacheOptions | undefined) {
    if (!cache) return;
    this.#memory = new ThreadMemory(cache.folder);
    this.#states = new StateFolder(cache.folder, cache.limit);
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
    const { signal } = this.#closing;
    try {
      const model = await loadModel(file, eitherSignal(options, signal), {
        libraries: this.#libraries,
        states: this.#states,
        memory: this.#memory,
        onClose: (closed) => this.#models.delete(closed),
      });
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

/** The options with a signal that is aborted when either is. */
function eitherSignal(options: LoadOptions, closing: AbortSignal): LoadOptions {
  const either = new AbortController();
  const abort = (): void => either.abort();
  for (const signal of [options.signal, closing]) {
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  }
  return { ...options, signal: either.signal };
}
