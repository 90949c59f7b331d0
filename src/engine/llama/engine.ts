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
  readonly #states: StateFolder | undefined;
  readonly #memory: ThreadMemory | undefined;
  #failed = false;

  constructor(cache: CacheOptions | undefined) {
    if (!cache) return;
    this.#memory = new ThreadMemory(cache.folder);
    this.#states = new StateFolder(cache.folder, cache.limit);
  }

  async load(file: string, options: LoadOptions): Promise<Model> {
    try {
      const model = await loadModel(file, options, {
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
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    await this.#states?.[Symbol.asyncDispose]();
    // A load that failed leaves a handle behind in the library, for whose release this would wait forever.
    if (!this.#failed) await this.#libraries.dispose();
  }
}
