import type { Llama } from 'node-llama-cpp';
import { Fault, describeError } from '../../fault.ts';
import type { LoadOptions, Model } from '../engine.ts';
import { createContext } from './createContext.ts';
import { validateGgufFile } from './gguf/validateFile.ts';
import { cacheTypeWarnings } from './kvCache/cacheType.ts';
import type { LlamaInstancePool } from './llamaInstances.ts';
import { checkMemory, freeBytes } from './memoryCheck.ts';
import { LlamaModel } from './model.ts';
import type { StateStore } from './kvCache/stateStore.ts';
import { StateSwap } from './kvCache/stateSwap.ts';
import type { ModelFile, ThreadTimingsCache } from './threads/threadTimingsCache.ts';

const maxDefaultContextSize = 8192;

/** What a model has of its engine. */
export interface LoadDependencies {
  readonly instances: LlamaInstancePool;
  readonly stateStore: StateStore | undefined;
  readonly timingsCache: ThreadTimingsCache | undefined;
  readonly onClose: (model: Model) => unknown;
}

/** Loads a GGUF file with one context for all its slots. @throws Fault MODEL_LOAD_FAILED */
export async function loadModel(file: string, options: LoadOptions, around: LoadDependencies): Promise<Model> {
  const { instances: libraries } = around;
  try {
    const size = await validateGgufFile(file);
    const llama = await libraries.acquire(options.gpu);
    const giveBack = (): void => libraries.release(options.gpu, llama);
    try {
      if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: size, hint: 'take a smaller model' });
      const onClose = (model: Model): void => {
        giveBack();
        around.onClose(model);
      };
      return await loadWithCpuFallback(llama, { file, size }, options, { ...around, onClose });
    } catch (error) {
      giveBack();
      throw error;
    }
  } catch (error) {
    throw toLoadFault(file, error, options.signal);
  }
}

async function loadWithCpuFallback(
  llama: Llama,
  file: ModelFile,
  options: LoadOptions,
  around: LoadDependencies,
): Promise<Model> {
  try {
    return await tryLoad(llama, file, options, 'fitting', around);
  } catch (error) {
    if (llama.gpu === false || options.signal?.aborted) throw error;
    return tryLoad(llama, file, options, 'none', around);
  }
}

/** One try, with the GPU layers that fit or with none. */
async function tryLoad(
  llama: Llama,
  file: ModelFile,
  options: LoadOptions,
  layers: 'fitting' | 'none',
  { stateStore: stateSwap, timingsCache: memory, onClose }: LoadDependencies,
): Promise<Model> {
  const { signal, onProgress } = options;
  const free = await freeBytes(llama);
  const weights = await llama.loadModel({
    modelPath: file.file,
    ...(layers === 'none' && { gpuLayers: 0 }),
    ...(signal && { loadSignal: signal }),
    ...(onProgress && { onLoadProgress: onProgress }),
  });
  try {
    const { contextSize, notes } = chooseContextSize(options.contextSize, weights.trainContextSize);
    const work = await createContext(weights, { ...options, contextSize, file, timingsCache: memory });
    const onCpu = layers === 'none' ? ['the GPU has no room for this model: it runs on the CPU'] : [];
    return new LlamaModel({
      weights,
      ...work,
      free,
      stateSwap: stateSwap && new StateSwap(stateSwap, work.batchTimer, work.bytesPerToken),
      contextSize,
      notes: [...notes, ...cacheTypeWarnings(options.kvCacheType ?? 'f16'), ...onCpu],
      onClose,
    });
  } catch (error) {
    await weights.dispose();
    throw error;
  }
}

function chooseContextSize(asked: number, trained: number): { contextSize: number; notes: readonly string[] } {
  if (asked === 0) return { contextSize: Math.min(maxDefaultContextSize, trained), notes: [] };
  if (asked <= trained) return { contextSize: asked, notes: [] };
  return {
    contextSize: trained,
    notes: [`context_size ${asked} is more than the ${trained} tokens this model was trained on: it is ${trained}`],
  };
}

function toLoadFault(file: string, error: unknown, signal: AbortSignal | undefined): Fault {
  if (error instanceof Fault)
    return new Fault(error.name, `${file} cannot be loaded: ${error.message}`, { cause: error });
  if (signal?.aborted) return new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`, { cause: error });
  const why = describeError(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `${file} cannot be loaded (${why}): the file is damaged, cut short, or of a kind that this llama.cpp does not know; ` +
      'download it again',
    { cause: error },
  );
}
