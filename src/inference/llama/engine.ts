import { EitherSignal, track } from '../../base/abort.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import { LlamaInstancePool } from './llamaInstances.ts';
import { loadModel } from './loadModel.ts';
import type { LoadPlan } from '../contract/memory.ts';
import { estimateLoad } from './estimateLoad.ts';
import type { ContextProgress } from './createContext.ts';
import { DiskQuota } from '../../base/diskCache.ts';
import type { StateFiles } from './kvCache/stateFiles.ts';
import { StateStore } from './kvCache/stateStore.ts';
import type { PromptFiles } from './promptCache/promptFiles.ts';
import { PromptStore } from './promptCache/promptStore.ts';
import { ThreadTimingsCache } from './threads/threadTimingsCache.ts';

/** The cache folder of an engine. What is in it can be deleted at any time. */
export interface CacheFolderOptions {
  /** Folder of swapped KV states, the prompt cache and thread benchmarks. */
  readonly folder: string;
  /** Quota of KV states and the prompt cache together; 0 = neither is written to disk. */
  readonly maxStateBytes: number;
  /** The quota of these bytes, where other stores share it; default: one of its own. */
  readonly quota?: DiskQuota;
  /** Receives the error when a KV state could not be written. */
  readonly onStateError?: (error: unknown) => void;
}

/** What a llama.cpp engine writes to disk; nothing when both are absent. */
export interface LlamaEngineOptions {
  readonly states?: StateFiles | undefined;
  /** Files of the prompt cache. */
  readonly prompts?: PromptFiles | undefined;
  /** Folder of the thread benchmarks. */
  readonly timingsFolder?: string | undefined;
  /** The card that the environment of this process shows to the library; absent: all. */
  readonly gpuDevice?: number | undefined;
}

/** Creates the llama.cpp engine: runs GGUF models in this process. Without a cache folder it writes nothing to disk. */
export function llamaEngine(cache?: CacheFolderOptions): Engine {
  if (!cache) return new LlamaEngine({});
  const { quota = new DiskQuota(cache.maxStateBytes) } = cache;
  const states = new StateStore(cache.folder, quota, cache.onStateError);
  const prompts = new PromptStore(cache.folder, quota, cache.onStateError);
  return new LlamaEngine({ states, prompts, timingsFolder: cache.folder }, states);
}

/** The llama.cpp engine in this process. */
export class LlamaEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #instances: LlamaInstancePool;
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #states: StateFiles | undefined;
  readonly #prompts: PromptFiles | undefined;
  readonly #timingsCache: ThreadTimingsCache | undefined;
  readonly #owned: AsyncDisposable | undefined;
  #hasLoadFailed = false;

  /** @param owned is disposed of with the engine. */
  constructor({ states, prompts, timingsFolder, gpuDevice }: LlamaEngineOptions, owned?: AsyncDisposable) {
    this.#instances = new LlamaInstancePool(gpuDevice);
    this.#states = states;
    this.#prompts = prompts;
    this.#timingsCache = timingsFolder === undefined ? undefined : new ThreadTimingsCache(timingsFolder);
    this.#owned = owned;
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
          states: this.#states,
          prompts: this.#prompts,
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
    await this.#owned?.[Symbol.asyncDispose]();
    // A failed load leaves an open handle in node-llama-cpp: disposing the instance would wait for it for ever.
    if (!this.#hasLoadFailed) await this.#instances.dispose();
  }
}
