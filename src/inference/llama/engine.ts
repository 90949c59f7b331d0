import { EitherSignal, track } from '../../base/abort.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import { LlamaInstancePool } from './llamaInstances.ts';
import { loadModel } from './loadModel.ts';
import type { LoadPlan } from '../contract/memory.ts';
import { estimateLoad } from './estimateLoad.ts';
import type { ContextProgress } from './createContext.ts';
import { type CacheFiles, type CacheFolderOptions, openCacheFiles } from './cacheFiles.ts';
import { ThreadTimingsCache } from './threads/threadTimingsCache.ts';

export interface LlamaEngineOptions {
  /** Disposed of with the engine; absent: nothing is written to disk, apart from thread benchmarks. */
  readonly files?: CacheFiles | undefined;
  /** Folder of the thread benchmarks; absent: none is kept. */
  readonly timingsFolder?: string | undefined;
  /** The card that the environment of this process shows to the library; absent: all. */
  readonly gpuDevice?: number | undefined;
}

/** Creates the llama.cpp engine: runs GGUF models in this process. Without a cache folder it writes nothing to disk. */
export const llamaEngine = (cache?: CacheFolderOptions): Engine =>
  new LlamaEngine({ files: cache && openCacheFiles(cache), timingsFolder: cache?.folder });

/** The llama.cpp engine in this process. */
export class LlamaEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #instances: LlamaInstancePool;
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #files: CacheFiles | undefined;
  readonly #timingsCache: ThreadTimingsCache | undefined;
  #hasLoadFailed = false;

  constructor({ files, timingsFolder, gpuDevice }: LlamaEngineOptions) {
    this.#instances = new LlamaInstancePool(gpuDevice);
    this.#files = files;
    this.#timingsCache = timingsFolder === undefined ? undefined : new ThreadTimingsCache(timingsFolder);
  }

  /** Loads the library, so that the first model does not wait for it. @throws Fault MODEL_LOAD_FAILED */
  prepare(gpu: LoadOptions['gpu']): Promise<void> {
    return this.#instances.prepare(gpu);
  }

  async estimate(file: string, options: LoadOptions): Promise<LoadPlan> {
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    return estimateLoad(file, { ...options, signal: abort.signal }, this.#instances);
  }

  /** @param onBatches receives the progress of the model's batches, before the first one. */
  async load(file: string, options: LoadOptions, onBatches?: (progress: ContextProgress) => void): Promise<Model> {
    return track(this.#loading, this.#load(file, options, onBatches));
  }

  async #load(
    file: string,
    options: LoadOptions,
    onBatches: ((progress: ContextProgress) => void) | undefined,
  ): Promise<Model> {
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    try {
      const model = await loadModel(
        file,
        { ...options, signal: abort.signal },
        {
          instances: this.#instances,
          files: this.#files,
          timingsCache: this.#timingsCache,
          onClose: (closed) => this.#models.delete(closed),
          onBatches,
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
    await this.#files?.[Symbol.asyncDispose]?.();
    // A failed load leaves an open handle in node-llama-cpp: disposing the instance would wait for it for ever.
    if (!this.#hasLoadFailed) await this.#instances.dispose();
  }
}
