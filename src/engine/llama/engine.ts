import { getLlama, LlamaLogLevel, type Llama } from 'node-llama-cpp';
import type { Engine, LoadOptions, Model } from '../engine.ts';
import { loadModel } from './loading.ts';

/** The engine that runs GGUF files with llama.cpp in this process. */
export function llamaEngine(): Engine {
  return new LlamaEngine();
}

class LlamaEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #libraries = new Map<LoadOptions['gpu'], Promise<Llama>>();
  readonly #models = new Set<Model>();
  #failed = false;

  async load(file: string, options: LoadOptions): Promise<Model> {
    const closed = (model: Model): unknown => this.#models.delete(model);
    try {
      const model = await loadModel(() => this.#library(options.gpu), file, options, closed);
      this.#models.add(model);
      return model;
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    const libraries = await Promise.allSettled(this.#libraries.values());
    this.#libraries.clear();
    const disposals = libraries.map((library) =>
      library.status === 'fulfilled' ? library.value.dispose() : undefined,
    );
    // A load that failed leaves a handle behind in the library, for whose release this would wait forever.
    if (!this.#failed) await Promise.all(disposals);
  }

  // One library for all models: the threads it is told about are the threads it uses, so its own splitting is off.
  #library(gpu: LoadOptions['gpu']): Promise<Llama> {
    const known = this.#libraries.get(gpu);
    if (known) return known;
    const library = getLlama({
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      gpu: gpu === 'off' ? false : 'auto',
      maxThreads: 0,
      logLevel: LlamaLogLevel.disabled,
    });
    this.#libraries.set(gpu, library);
    library.catch(() => this.#libraries.delete(gpu));
    return library;
  }
}
