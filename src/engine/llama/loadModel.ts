import type { Llama } from 'node-llama-cpp';
import { Fault, describeError } from '../../fault.ts';
import type { LoadOptions, Model } from '../engine.ts';
import { createContext, type ContextProgress } from './createContext.ts';
import { validateGgufFile } from './gguf/validateFile.ts';
import { cacheTypeWarnings } from './kvCache/cacheType.ts';
import type { LlamaInstancePool } from './llamaInstances.ts';
import { checkMemory, freeBytes } from './memoryCheck.ts';
import { LlamaModel } from './model.ts';
import type { StateFiles } from './kvCache/stateFiles.ts';
import { StateSwap } from './kvCache/stateSwap.ts';
import type { ModelFile, ThreadTimingsCache } from './threads/threadTimingsCache.ts';

const maxDefaultContextSize = 8192;

/** What a load uses of its engine. */
export interface LoadDependencies {
  readonly instances: LlamaInstancePool;
  readonly states: StateFiles | undefined;
  readonly timingsCache: ThreadTimingsCache | undefined;
  readonly onClose: (model: Model) => unknown;
  /** Receives the progress of the model's batches, before the first one. */
  readonly onBatches?: ((progress: ContextProgress) => void) | undefined;
}

/** Loads a GGUF model: the weights, and one context with all its slots. @throws Fault MODEL_LOAD_FAILED */
export async function loadModel(file: string, options: LoadOptions, dependencies: LoadDependencies): Promise<Model> {
  const { instances } = dependencies;
  try {
    const size = await validateGgufFile(file);
    const llama = await instances.acquire(options.gpu);
    const releaseInstance = (): void => instances.release(options.gpu, llama);
    try {
      if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: size, hint: 'use a smaller model' });
      const onClose = (model: Model): void => {
        releaseInstance();
        dependencies.onClose(model);
      };
      return await loadWithCpuFallback(llama, { file, size }, options, { ...dependencies, onClose });
    } catch (error) {
      releaseInstance();
      throw error;
    }
  } catch (error) {
    throw toLoadFault(file, error, options.signal);
  }
}

/** Loads with the GPU layers that fit; if that fails, on the CPU. */
async function loadWithCpuFallback(
  llama: Llama,
  file: ModelFile,
  options: LoadOptions,
  dependencies: LoadDependencies,
): Promise<Model> {
  try {
    return await tryLoad(llama, file, options, 'fitting', dependencies);
  } catch (error) {
    if (llama.gpu === false || options.signal?.aborted) throw error;
    const { gpuLayers = 'auto' } = options;
    if (gpuLayers !== 'auto') throw layersFault(gpuLayers, error);
    return tryLoad(llama, file, options, 'none', dependencies);
  }
}

async function tryLoad(
  llama: Llama,
  file: ModelFile,
  options: LoadOptions,
  gpuLayers: 'fitting' | 'none',
  { states, timingsCache, onClose, onBatches }: LoadDependencies,
): Promise<Model> {
  const { signal, onProgress } = options;
  const free = await freeBytes(llama);
  const weights = await llama.loadModel({
    modelPath: file.file,
    ...layersOption(gpuLayers, options.gpuLayers),
    ...(signal && { loadSignal: signal }),
    ...(onProgress && { onLoadProgress: onProgress }),
  });
  try {
    const { contextSize, notes } = chooseContextSize(options.contextSize, weights.trainContextSize);
    const context = await createContext(weights, { ...options, contextSize, file, timingsCache, onBatches });
    const gpuWarnings = describeGpuProblem(llama, gpuLayers, options);
    return new LlamaModel({
      weights,
      ...context,
      free,
      stateSwap: states && new StateSwap(states, context.batchTimer, context.bytesPerToken),
      contextSize,
      notes: [...notes, ...cacheTypeWarnings(options.kvCacheType ?? 'f16'), ...gpuWarnings],
      onClose,
    });
  } catch (error) {
    await weights.dispose();
    throw error;
  }
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

function chooseContextSize(requested: number, trained: number): { contextSize: number; notes: readonly string[] } {
  if (requested === 0) return { contextSize: Math.min(maxDefaultContextSize, trained), notes: [] };
  if (requested <= trained) return { contextSize: requested, notes: [] };
  return {
    contextSize: trained,
    notes: [
      `context_size ${requested} is more than the ${trained} tokens this model was trained on: ${trained} is used`,
    ],
  };
}

function toLoadFault(file: string, error: unknown, signal: AbortSignal | undefined): Fault {
  if (error instanceof Fault)
    return new Fault(error.name, `${file} cannot be loaded: ${error.message}`, { cause: error });
  if (signal?.aborted) return new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`, { cause: error });
  const reason = describeError(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `${file} cannot be loaded (${reason}): the file is damaged, cut short, or of a kind that this llama.cpp does not know; ` +
      'download it again',
    { cause: error },
  );
}
