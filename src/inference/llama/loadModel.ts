import { InsufficientMemoryError, type Llama, type LlamaModel as Weights } from 'node-llama-cpp';
import { Fault, describeError } from '../../protocol/fault.ts';
import type { KvCacheType, LoadOptions, Model } from '../contract/engine.ts';
import { addMemory, subtractMemory, type MemoryUse } from '../contract/memory.ts';
import {
  assertContextFits,
  contextEstimates,
  readMemoryUse,
  reductionNotes,
  unlimitedMemory,
  wantedContext,
  fitContext,
  type ContextSettings,
  type FittedContext,
  checkMemory,
  freeBytes,
  cacheTypeWarnings,
} from './contextMemory.ts';
import { createContext, type ContextProgress, resizableContext } from './createContext.ts';
import { withCheckpoints } from './kvCache/checkpoints.ts';
import { limitVram, mapsWeights, toLoadFault } from './estimateLoad.ts';
import { loadEmbeddingModel } from './embedding/loadEmbeddingModel.ts';
import { validateGgufFile } from './gguf/validateFile.ts';
import type { LlamaInstancePool } from './llamaInstances.ts';
import { checkLoras, loraMemory, toLoraFault } from './loras.ts';
import { LlamaModel } from './model.ts';
import type { StateFiles } from './kvCache/stateFiles.ts';
import { StateSwap } from './kvCache/stateSwap.ts';
import { PromptCache, promptKey } from './promptCache/promptCache.ts';
import type { PromptFiles } from './promptCache/promptFiles.ts';
import type { ModelFile, ThreadTimingsCache } from './threads/threadTimingsCache.ts';

/** What a load uses of its engine. */
export interface LoadDependencies {
  readonly instances: LlamaInstancePool;
  readonly states: StateFiles | undefined;
  readonly prompts: PromptFiles | undefined;
  readonly timingsCache: ThreadTimingsCache | undefined;
  readonly onClose: (model: Model) => unknown;
  /** Receives the progress of the model's batches, before the first one. */
  readonly onBatches?: ((progress: ContextProgress) => void) | undefined;
}

/** A model file, and the bytes of its LoRA adapters. */
interface LoadedFile extends ModelFile {
  readonly loraBytes: number;
}

/** The weights of a model, and what is known of their load. */
interface LoadedWeights {
  readonly weights: Weights;
  readonly file: LoadedFile;
  /** Free memory just before the load. */
  readonly free: MemoryUse;
  /** What the instance took after the load, before there is a context. */
  readonly loaded: MemoryUse;
  readonly weightMemory: MemoryUse;
  readonly notes: readonly string[];
}

/** Loads a GGUF model: the weights, and one context with all its slots. @throws Fault MODEL_LOAD_FAILED */
export async function loadModel(file: string, options: LoadOptions, dependencies: LoadDependencies): Promise<Model> {
  const { instances } = dependencies;
  try {
    const size = await validateGgufFile(file);
    const loraBytes = await checkLoras(file, options.loras ?? []);
    const llama = await instances.acquire(options.gpu);
    const releaseInstance = (): void => instances.release(options.gpu, llama);
    try {
      if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: size, hint: 'use a smaller model' });
      const onClose = (model: Model): void => {
        releaseInstance();
        dependencies.onClose(model);
      };
      return await loadWithCpuFallback(llama, { file, size, loraBytes }, options, { ...dependencies, onClose });
    } catch (error) {
      releaseInstance();
      throw error;
    }
  } catch (error) {
    throw toLoadFault(file, toLoraFault(options.loras ?? [], error), options.signal);
  }
}

/** Loads with the GPU layers that fit; if that fails, on the CPU. */
async function loadWithCpuFallback(
  llama: Llama,
  file: LoadedFile,
  options: LoadOptions,
  dependencies: LoadDependencies,
): Promise<Model> {
  try {
    return await tryLoad(llama, file, options, 'fitting', dependencies);
  } catch (error) {
    if (llama.gpu === false || options.signal?.aborted) throw error;
    const { gpuLayers = 'auto' } = options;
    if (gpuLayers !== 'auto') throw error instanceof InsufficientMemoryError ? layersFault(gpuLayers, error) : error;
    return tryLoad(llama, file, options, 'none', dependencies);
  }
}

async function tryLoad(
  llama: Llama,
  file: LoadedFile,
  options: LoadOptions,
  gpuLayers: 'fitting' | 'none',
  dependencies: LoadDependencies,
): Promise<Model> {
  const { signal, onProgress, within = unlimitedMemory } = options;
  const free = await freeBytes(llama);
  const before = await readMemoryUse(llama);
  await limitVram(llama, within);
  const weights = await llama.loadModel({
    modelPath: file.file,
    useMmap: mapsWeights(llama, within),
    ...layersOption(gpuLayers, options.gpuLayers),
    ...(signal && { loadSignal: signal }),
    ...(onProgress && { onLoadProgress: onProgress }),
  });
  try {
    const loaded = await readMemoryUse(llama);
    // The library does not count adapters.
    const loraUse = loraMemory(file.loraBytes, weights.gpuLayers);
    const weightMemory = addMemory(subtractMemory(loaded, before), loraUse);
    const notes = describeGpuProblem(llama, gpuLayers, options);
    const { onBatches, onClose } = dependencies;
    const own = { weightMemory, loaded, notes };
    return options.purpose === 'embedding'
      ? await loadEmbeddingModel(weights, { ...own, file: file.file, options, onBatches, onClose })
      : await createModel({ ...own, weights, file, free }, options, dependencies);
  } catch (error) {
    await weights.dispose();
    throw error;
  }
}

/** A chat model of loaded weights, with its context. */
async function createModel(
  { weights, file, free, loaded, weightMemory, notes: gpuNotes }: LoadedWeights,
  options: LoadOptions,
  { states, prompts, timingsCache, onClose, onBatches }: LoadDependencies,
): Promise<Model> {
  const { within = unlimitedMemory, kvCacheType = 'f16', loras, resizing } = options;
  assertGenerates(weights);
  const { notes, ...wanted } = wantedContext(options, weights.trainContextSize);
  const fitted = await fitModelContext(weights, wanted, {
    kvCacheType,
    within: subtractMemory(within, weightMemory),
  });
  const { slots, contextSize } = fitted;
  const context = await createContext(weights, { ...options, slots, contextSize, file, timingsCache, onBatches });
  const contextMemory = subtractMemory(await readMemoryUse(weights.llama), loaded);
  const parts = { weights: weightMemory, context: contextMemory, slot: fitted.slot };
  const memory = withCheckpoints(context.context, parts, within);
  const { batchTimer } = context;
  const bytesPerToken = (fitted.slot.ram + fitted.slot.vram) / contextSize;
  const key = prompts && (await promptKey(weights, file, { contextSize, kvCacheType, loras }));
  return new LlamaModel({
    weights,
    ...context,
    ...resizableContext(weights, context, { contextSize, kvCacheType, memory, resizing }),
    free,
    memory,
    stateSwap: states && new StateSwap(states, batchTimer, bytesPerToken),
    promptCache: prompts && new PromptCache(prompts, { key: key ?? '', spare: states, batchTimer, bytesPerToken }),
    contextSize,
    notes: [
      ...notes,
      ...reductionNotes(wanted, fitted, options.slots > 0),
      ...cacheTypeWarnings(kvCacheType),
      ...gpuNotes,
    ],
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

/** The context of a model that fits. @throws Fault MODEL_LOAD_FAILED when the limit, or the free memory, is too small. */
async function fitModelContext(
  { fileInsights, gpuLayers }: Weights,
  wanted: ContextSettings,
  { kvCacheType, within }: { readonly kvCacheType: KvCacheType; readonly within: MemoryUse },
): Promise<FittedContext> {
  const fitted = await fitContext(contextEstimates(fileInsights, { gpuLayers, kvCacheType }), wanted, within);
  assertContextFits(fitted, within);
  const { slots, contextSize, context } = fitted;
  const what = `${slots} slot${slots === 1 ? '' : 's'} of ${contextSize} tokens`;
  checkMemory({ what, bytes: context.ram, hint: 'lower context_size or the number of slots' });
  return fitted;
}

const layersOption = (where: 'fitting' | 'none', layers: LoadOptions['gpuLayers'] = 'auto') => {
  if (where === 'none') return { gpuLayers: 0 };
  return layers === 'auto' ? {} : { gpuLayers: layers };
};

function describeGpuProblem(
  llama: Llama,
  where: 'fitting' | 'none',
  { gpu, gpuLayers = 'auto' }: LoadOptions,
): readonly string[] {
  if (where === 'none') return ['the GPU has no room for this model: it runs on the CPU'];
  if (llama.gpu !== false || gpu === 'off' || gpuLayers === 'auto' || gpuLayers === 0) return [];
  return [`there is no graphics card for its ${gpuLayers} layers: it runs on the CPU`];
}

function layersFault(layers: number, cause: unknown): Fault {
  const message =
    `${layers} layers could not be put on the graphics card (${describeError(cause)}): ` +
    'lower --gpu-layers, or gpu_layers of the model in models.json, or set it to auto';
  return new Fault('MODEL_LOAD_FAILED', message, { cause });
}
