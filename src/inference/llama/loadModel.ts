import { InsufficientMemoryError, type Llama, type LlamaModel as Weights } from 'node-llama-cpp';
import { Fault, describeError } from '../../protocol/fault.ts';
import type { LoadOptions, Model } from '../contract/engine.ts';
import { addMemory, subtractMemory, type MemoryUse } from '../contract/memory.ts';
import {
  cacheTypeWarnings,
  checkMemory,
  contextMemoryOf,
  fitLoadedContext,
  freeBytes,
  type LoadedWeights,
  readMemoryUse,
  unlimitedMemory,
} from './contextMemory.ts';
import { createContext, type ContextProgress, resizableContext } from './createContext.ts';
import { withCheckpoints } from './kvCache/checkpoints.ts';
import {
  chooseLayers,
  limitVram,
  mapsWeights,
  checkFiles,
  type PlannedFile,
  readEstimates,
  toLoadFault,
} from './estimateLoad.ts';
import { cardsOf } from './libraryFault.ts';
import { loadEmbeddingModel } from './embedding/loadEmbeddingModel.ts';
import type { LlamaInstancePool } from './llamaInstances.ts';
import { loraMemory, toLoraFault } from './loras.ts';
import { LlamaModel } from './model.ts';
import type { CacheFiles } from './cacheFiles.ts';
import { StateSwap } from './kvCache/stateSwap.ts';
import { PromptCache, promptKey } from './promptCache/promptCache.ts';
import type { ThreadTimingsCache } from './threads/threadTimingsCache.ts';

/** What a load uses of its engine. */
export interface LoadDependencies {
  readonly instances: LlamaInstancePool;
  readonly files: CacheFiles | undefined;
  readonly timingsCache: ThreadTimingsCache | undefined;
  readonly onClose: (model: Model) => unknown;
  /** Receives the progress of the model's batches, before the first one. */
  readonly onBatches?: ((progress: ContextProgress) => void) | undefined;
}

/** Loads a GGUF model: the weights, and one context with all its slots. @throws Fault MODEL_LOAD_FAILED */
export async function loadModel(path: string, options: LoadOptions, dependencies: LoadDependencies): Promise<Model> {
  try {
    return await loadWithCpuFallback(await checkFiles(path, options.loras), options, dependencies);
  } catch (error) {
    throw toLoadFault(path, toLoraFault(options.loras ?? [], error), options.signal);
  }
}

/**
 * Loads with the layers on the card that fit. If none does, or the load fails, on the CPU, and with its library: the other one
 * computes on the card also where no layer is there.
 */
async function loadWithCpuFallback(
  file: PlannedFile,
  options: LoadOptions,
  dependencies: LoadDependencies,
): Promise<Model> {
  const { gpu, gpuLayers = 'auto', signal } = options;
  const llama = await dependencies.instances.acquire(gpu);
  try {
    return await loadInto(llama, file, options, dependencies);
  } catch (error) {
    if (llama.gpu === false || signal?.aborted) throw error;
    if (gpuLayers !== 'auto') throw error instanceof InsufficientMemoryError ? layersFault(gpuLayers, error) : error;
  }
  const cpu = await dependencies.instances.acquire('off');
  const notes = ['the GPU has no room for this model: it runs on the CPU'];
  return loadInto(cpu, file, { ...options, gpu: 'off' }, dependencies, notes);
}

/** Loads with an instance, which is released when the load fails or the model is closed. */
async function loadInto(
  llama: Llama,
  file: PlannedFile,
  options: LoadOptions,
  dependencies: LoadDependencies,
  notes: readonly string[] = [],
): Promise<Model> {
  const releaseInstance = (): void => dependencies.instances.release(options.gpu, llama);
  try {
    if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: file.size, hint: 'use a smaller model' });
    const onClose = (model: Model): void => {
      releaseInstance();
      dependencies.onClose(model);
    };
    return await tryLoad(llama, file, options, { ...dependencies, onClose }, notes);
  } catch (error) {
    releaseInstance();
    throw error;
  }
}

async function tryLoad(
  llama: Llama,
  file: PlannedFile,
  options: LoadOptions,
  dependencies: LoadDependencies,
  cpuNotes: readonly string[],
): Promise<Model> {
  const { signal, onProgress, within = unlimitedMemory } = options;
  const free = await freeBytes(llama);
  const before = await readMemoryUse(llama);
  await limitVram(llama, within);
  const gpuLayers = await chooseLayers(llama, options, () => readEstimates(llama, file, options));
  const weights = await llama.loadModel({
    modelPath: file.file,
    useMmap: mapsWeights(llama, within),
    gpuLayers,
    ...(signal && { loadSignal: signal }),
    ...(onProgress && { onLoadProgress: onProgress }),
  });
  try {
    const loaded = await readMemoryUse(llama);
    // The library does not count adapters.
    const loraUse = loraMemory(file.loraBytes, weights.gpuLayers);
    const weightMemory = addMemory(subtractMemory(loaded, before), loraUse);
    const notes = [...cpuNotes, ...(await describeGpuProblem(weights, options))];
    const own = { weights, weightMemory, loaded, notes };
    return options.purpose === 'embedding'
      ? await loadEmbeddingModel({ ...own, file: file.file }, options, dependencies)
      : await createModel({ ...own, file, free }, options, dependencies);
  } catch (error) {
    await weights.dispose();
    throw error;
  }
}

/** A chat model of loaded weights, with its context. */
async function createModel(
  { file, free, ...own }: LoadedWeights & { readonly file: PlannedFile; readonly free: MemoryUse },
  options: LoadOptions,
  { files, timingsCache, onClose, onBatches }: LoadDependencies,
): Promise<Model> {
  const { within = unlimitedMemory, kvCacheType = 'f16', loras, resizing } = options;
  const { weights } = own;
  assertGenerates(weights);
  const { slots, contextSize, slot, notes } = await fitLoadedContext(own, options);
  const context = await createContext(weights, { ...options, slots, contextSize, file, timingsCache, onBatches });
  const parts = { weights: own.weightMemory, context: await contextMemoryOf(own), slot };
  const memory = withCheckpoints(context.context, parts, within);
  const { batchTimer } = context;
  const bytesPerToken = (slot.ram + slot.vram) / contextSize;
  const key = files && (await promptKey(weights, file, { contextSize, kvCacheType, loras }));
  return new LlamaModel({
    weights,
    ...context,
    ...resizableContext(weights, context, { contextSize, kvCacheType, memory, resizing }),
    free,
    memory,
    stateSwap: files && new StateSwap(files.states, batchTimer, bytesPerToken),
    promptCache:
      files && new PromptCache(files.prompts, { key: key ?? '', states: files.states, batchTimer, bytesPerToken }),
    contextSize,
    notes: [...notes, ...cacheTypeWarnings(kvCacheType), ...own.notes],
    onClose,
  });
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
