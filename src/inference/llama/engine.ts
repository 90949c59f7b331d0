import { EitherSignal, track } from '../../base/abort.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import { LlamaInstancePool } from './llamaInstances.ts';
import { type Hardware, type LoadPlan, addMemory, subtractMemory, type MemoryUse } from '../contract/memory.ts';
import {
  estimateLoad,
  chooseLayers,
  limitVram,
  mapsWeights,
  checkFiles,
  type PlannedFile,
  readEstimates,
  toLoadFault,
} from './estimateLoad.ts';
import { type ContextOptions, createContext, type OwnLoadOptions } from './createContext.ts';
import { holdContexts } from './nativePatches.ts';
import { type CacheFiles, type CacheFolderOptions, openCacheFiles } from './cacheFiles.ts';
import { type ThreadTimingsCache, threadTimingsCache } from './threads/threadTimingsCache.ts';
import { InsufficientMemoryError, type Llama, type LlamaModel as Weights } from 'node-llama-cpp';
import { Fault, describeError } from '../../protocol/fault.ts';
import {
  cacheTypeWarnings,
  checkMemory,
  contextEstimates,
  contextMemoryOf,
  firstContextSize,
  fitLoadedContext,
  freeBytes,
  type LoadedWeights,
  needsCheckpoints,
  readMemoryUse,
  unlimitedMemory,
} from './contextMemory.ts';
import { withCheckpoints } from './kvCache/checkpoints.ts';
import { cardsOf } from './libraryFault.ts';
import { loadEmbeddingModel } from './embedding/loadEmbeddingModel.ts';
import { loraMemory, toLoraFault } from './loras.ts';
import { LlamaModel } from './model.ts';
import { StateSwap } from './kvCache/stateSwap.ts';
import { PromptCache, promptKey } from './kvCache/promptCache.ts';

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
    this.#timingsCache = timingsFolder === undefined ? undefined : threadTimingsCache(timingsFolder);
  }

  /** Loads the library, so that the first model does not wait for it. @throws Fault MODEL_LOAD_FAILED */
  prepare(gpu: LoadOptions['gpu']): Promise<void> {
    return this.#instances.prepare(gpu);
  }

  readHardware(gpu: LoadOptions['gpu']): Promise<Hardware> {
    return this.#instances.readHardware(gpu);
  }

  async estimate(file: string, options: LoadOptions): Promise<LoadPlan> {
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    return estimateLoad(file, { ...options, signal: abort.signal }, this.#instances);
  }

  /** @param onBatches receives the progress of the model's batches, before the first one. */
  async load(file: string, options: LoadOptions, onBatches?: ContextOptions['onBatches']): Promise<Model> {
    return track(this.#loading, this.#load(file, { ...options, onBatches }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#loading);
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    await this.#files?.[Symbol.asyncDispose]?.();
    // A failed load leaves an open handle in node-llama-cpp: disposing the instance would wait for it for ever.
    if (!this.#hasLoadFailed) await this.#instances.dispose();
  }

  /** Loads a GGUF model: the weights, and one context with all its slots. @throws Fault MODEL_LOAD_FAILED */
  async #load(path: string, options: OwnLoadOptions): Promise<Model> {
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    const { signal } = abort;
    try {
      const model = await this.#loadWithCpuFallback(await checkFiles(path, options.loras), { ...options, signal });
      this.#models.add(model);
      return model;
    } catch (error) {
      this.#hasLoadFailed = true;
      throw toLoadFault(path, toLoraFault(options.loras ?? [], error), signal);
    }
  }

  /** Loads on the card what fits; else on the CPU with its library, as the other one would still use the card. */
  async #loadWithCpuFallback(file: PlannedFile, options: OwnLoadOptions): Promise<Model> {
    const { gpu, gpuLayers = 'auto', signal } = options;
    const llama = await this.#instances.acquire(gpu);
    try {
      return await this.#loadInto(llama, file, options);
    } catch (error) {
      if (llama.gpu === false || signal?.aborted) throw error;
      if (gpuLayers !== 'auto') throw error instanceof InsufficientMemoryError ? layersFault(gpuLayers, error) : error;
    }
    const cpu = await this.#instances.acquire('off');
    const notes = ['the GPU has no room for this model: it runs on the CPU'];
    return this.#loadInto(cpu, file, { ...options, gpu: 'off' }, notes);
  }

  async #loadInto(
    llama: Llama,
    file: PlannedFile,
    options: OwnLoadOptions,
    cpuNotes: readonly string[] = [],
  ): Promise<Model> {
    const { signal, onProgress, within = unlimitedMemory } = options;
    const release = (): void => this.#instances.release(options.gpu, llama);
    const onClose = (model: Model): void => {
      release();
      this.#models.delete(model);
    };
    let weights: Weights | undefined;
    try {
      if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: file.size, hint: 'use a smaller model' });
      const free = await freeBytes(llama);
      const before = await readMemoryUse(llama);
      await limitVram(llama, within);
      const gpuLayers = await chooseLayers(llama, options, () => readEstimates(llama, file, options));
      weights = await llama.loadModel({
        modelPath: file.file,
        useMmap: mapsWeights(llama, within),
        gpuLayers,
        ...(signal && { loadSignal: signal }),
        ...(onProgress && { onLoadProgress: onProgress }),
      });
      holdContexts(weights);
      const loaded = await readMemoryUse(llama);
      // The library does not count adapters.
      const loraUse = loraMemory(file.loraBytes, weights.gpuLayers);
      const weightMemory = addMemory(subtractMemory(loaded, before), loraUse);
      const notes = [...cpuNotes, ...(await describeGpuProblem(weights, options))];
      const own = { weights, weightMemory, loaded, notes, file, onClose };
      return options.purpose === 'embedding'
        ? await loadEmbeddingModel(own, options)
        : await this.#createModel({ ...own, free }, options);
    } catch (error) {
      try {
        await weights?.dispose();
      } finally {
        release();
      }
      throw error;
    }
  }

  async #createModel(own: LoadedWeights & { readonly free: MemoryUse }, options: OwnLoadOptions): Promise<Model> {
    const { within = unlimitedMemory, kvCacheType = 'f16', loras, resizing } = options;
    const { weights, file, free, onClose } = own;
    assertGenerates(weights);
    const files = this.#files;
    const fitted = await fitLoadedContext(own, options);
    const { slots, contextSize, slot, notes } = fitted;
    const first = { slots, contextSize: firstContextSize(fitted, files !== undefined && !needsCheckpoints(weights)) };
    const made = await createContext(weights, { ...options, ...first, file, timingsCache: this.#timingsCache });
    const { batchTimer, context } = made;
    const estimate = contextEstimates(weights.fileInsights, { gpuLayers: weights.gpuLayers, kvCacheType });
    const [measured, estimated] = [await contextMemoryOf(own), await estimate(first)];
    // Memory is planned for what the slots may have. Other models of this process may be loaded meanwhile, so what other slots
    // take is estimated and not measured.
    const contextWith = async (count: number): Promise<MemoryUse> =>
      addMemory(measured, subtractMemory(await estimate({ slots: count, contextSize }), estimated));
    const parts = { weights: own.weightMemory, context: await contextWith(slots), slot };
    const memory = withCheckpoints(context, parts, within);
    const bytesPerToken = (slot.ram + slot.vram) / contextSize;
    const key = files && (await promptKey(weights, file, { contextSize, kvCacheType, loras }));
    return new LlamaModel({
      ...made,
      weights,
      contextSize,
      free,
      memory,
      memoryWith: async (count) => ({ ...memory, context: await contextWith(count) }),
      resizing,
      stateSwap: files && new StateSwap(files.states, batchTimer, bytesPerToken),
      promptCache: files && new PromptCache(files, { key: key ?? '', batchTimer, bytesPerToken }),
      notes: [...notes, ...cacheTypeWarnings(kvCacheType), ...own.notes],
      onClose,
    });
  }
}

/** @throws Fault MODEL_LOAD_FAILED for an embedding model: its attention is not causal. */
function assertGenerates({ fileInfo }: Weights): void {
  const { attention } = Object(fileInfo.architectureMetadata) as { readonly attention?: { readonly causal?: boolean } };
  if (attention?.causal !== false) return;
  const hint = 'set "purpose": "embedding" in its entry in models.json, or use a chat model';
  throw new Fault('MODEL_LOAD_FAILED', `it is an embedding model, and generates no text: ${hint}`);
}

/** Says what of a model is not on a graphics card although it is to be there. */
async function describeGpuProblem(
  { llama, gpuLayers, fileInsights: { totalLayers } }: Weights,
  { gpu, gpuLayers: wanted = 'auto' }: LoadOptions,
): Promise<readonly string[]> {
  if (gpu === 'off' || wanted === 0) return [];
  const isThere = (await cardsOf(llama)).length > 0;
  if (wanted !== 'auto')
    return isThere ? [] : [`there is no graphics card for its ${wanted} layers: it runs on the CPU`];
  return isThere && gpuLayers < totalLayers
    ? [`the graphics card has room for ${gpuLayers} of its ${totalLayers} layers: the others run on the CPU`]
    : [];
}

function layersFault(layers: number, cause: unknown): Fault {
  const message =
    `${layers} layers could not be put on the graphics card (${describeError(cause)}): ` +
    'lower --gpu-layers, or gpu_layers of the model in models.json, or set it to auto';
  return new Fault('MODEL_LOAD_FAILED', message, { cause });
}
