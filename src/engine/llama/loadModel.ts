import type { Llama } from 'node-llama-cpp';
import { Fault } from '../../fault.ts';
import type { LoadOptions, Model } from '../engine.ts';
import { openContext } from './createContext.ts';
import { checkFile } from './gguf/validateFile.ts';
import { cacheNotes } from './kvCache/cacheType.ts';
import type { Libraries } from './llamaInstances.ts';
import { checkMemory, freeBytes } from './memoryCheck.ts';
import { LlamaModel } from './model.ts';
import type { StateFolder } from './kvCache/stateStore.ts';
import { States } from './kvCache/stateSwap.ts';
import type { ModelFile, ThreadMemory } from './threads/threadTimingsCache.ts';

const largestDefaultContext = 8192;

/** What a model has of its engine. */
export interface Surroundings {
  readonly libraries: Libraries;
  readonly states: StateFolder | undefined;
  readonly memory: ThreadMemory | undefined;
  readonly onClose: (model: Model) => unknown;
}

/** Loads a GGUF file with one context for all its seats. @throws Fault MODEL_LOAD_FAILED */
export async function loadModel(file: string, options: LoadOptions, around: Surroundings): Promise<Model> {
  const { libraries } = around;
  try {
    const size = await checkFile(file);
    const llama = await libraries.take(options.gpu);
    const giveBack = (): void => libraries.giveBack(options.gpu, llama);
    try {
      if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: size, mend: 'take a smaller model' });
      const onClose = (model: Model): void => {
        giveBack();
        around.onClose(model);
      };
      return await loadOn(llama, { file, size }, options, { ...around, onClose });
    } catch (error) {
      giveBack();
      throw error;
    }
  } catch (error) {
    throw refusal(file, error, options.signal);
  }
}

async function loadOn(llama: Llama, file: ModelFile, options: LoadOptions, around: Surroundings): Promise<Model> {
  try {
    return await attempt(llama, file, options, 'fitting', around);
  } catch (error) {
    if (llama.gpu === false || options.signal?.aborted) throw error;
    return attempt(llama, file, options, 'none', around);
  }
}

/** One try, with the GPU layers that fit or with none. */
async function attempt(
  llama: Llama,
  file: ModelFile,
  options: LoadOptions,
  layers: 'fitting' | 'none',
  { states, memory, onClose }: Surroundings,
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
    const work = await openContext(weights, { ...options, contextSize, file, memory });
    const onCpu = layers === 'none' ? ['the GPU has no room for this model: it runs on the CPU'] : [];
    return new LlamaModel({
      weights,
      ...work,
      free,
      states: states && new States(states, work.tempo, work.bytesPerToken),
      contextSize,
      notes: [...notes, ...cacheNotes(options.kvCacheType ?? 'f16'), ...onCpu],
      onClose,
    });
  } catch (error) {
    await weights.dispose();
    throw error;
  }
}

function chooseContextSize(asked: number, trained: number): { contextSize: number; notes: readonly string[] } {
  if (asked === 0) return { contextSize: Math.min(largestDefaultContext, trained), notes: [] };
  if (asked <= trained) return { contextSize: asked, notes: [] };
  return {
    contextSize: trained,
    notes: [`context_size ${asked} is more than the ${trained} tokens this model was trained on: it is ${trained}`],
  };
}

function refusal(file: string, error: unknown, signal: AbortSignal | undefined): Fault {
  if (error instanceof Fault)
    return new Fault(error.name, `${file} cannot be loaded: ${error.message}`, { cause: error });
  if (signal?.aborted) return new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`, { cause: error });
  const why = error instanceof Error ? error.message : String(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `${file} cannot be loaded (${why}): the file is damaged, cut short, or of a kind that this llama.cpp does not know; ` +
      'download it again',
    { cause: error },
  );
}
