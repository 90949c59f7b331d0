import type { Llama, LlamaContext, LlamaModel as Weights } from 'node-llama-cpp';
import { Fault } from '../../fault.ts';
import type { LoadOptions, Model } from '../engine.ts';
import { checkFile } from './file.ts';
import { checkMemory } from './memory.ts';
import { LlamaModel } from './model.ts';
import { chooseThreads } from './threads.ts';

// So many tokens of prompt hold up everybody else's next token, and a cancel.
const chunk = 256;
const largestDefaultContext = 8192;

/** Loads a GGUF file with one context for all its seats. @throws Fault MODEL_LOAD_FAILED */
export async function loadModel(
  library: () => Promise<Llama>,
  file: string,
  options: LoadOptions,
  onClose: (model: Model) => unknown,
): Promise<Model> {
  try {
    const size = await checkFile(file);
    const llama = await library();
    if (llama.gpu === false) checkMemory({ what: 'the weights', bytes: size, mend: 'take a smaller model' });
    return await loadOn(llama, file, options, onClose);
  } catch (error) {
    throw refusal(file, error, options.signal);
  }
}

async function loadOn(
  llama: Llama,
  file: string,
  options: LoadOptions,
  onClose: (model: Model) => unknown,
): Promise<Model> {
  try {
    return await attempt(llama, file, options, 'fitting', onClose);
  } catch (error) {
    if (llama.gpu === false || options.signal?.aborted) throw error;
    return attempt(llama, file, options, 'none', onClose);
  }
}

/** One try, with the GPU layers that fit or with none. */
async function attempt(
  llama: Llama,
  file: string,
  options: LoadOptions,
  layers: 'fitting' | 'none',
  onClose: (model: Model) => unknown,
): Promise<Model> {
  const { signal, onProgress } = options;
  const weights = await llama.loadModel({
    modelPath: file,
    ...(layers === 'none' && { gpuLayers: 0 }),
    ...(signal && { loadSignal: signal }),
    ...(onProgress && { onLoadProgress: onProgress }),
  });
  try {
    const { contextSize, notes } = chooseContextSize(options.contextSize, weights.trainContextSize);
    const context = await createContext(weights, contextSize, options);
    const onCpu = layers === 'none' ? ['the GPU has no room for this model: it runs on the CPU'] : [];
    return new LlamaModel({ weights, context, contextSize, notes: [...notes, ...onCpu], onClose });
  } catch (error) {
    await weights.dispose();
    throw error;
  }
}

async function createContext(weights: Weights, contextSize: number, options: LoadOptions): Promise<LlamaContext> {
  const { seats, signal } = options;
  const shape = { contextSize, sequences: seats, batchSize: Math.min(chunk, contextSize), flashAttention: true };
  const need = await weights.fileInsights.estimateContextResourceRequirementsV2({
    ...shape,
    modelGpuLayers: weights.gpuLayers,
  });
  const what = `${seats} seat${seats === 1 ? '' : 's'} of ${contextSize} tokens`;
  checkMemory({ what, bytes: need.cpuRam, mend: 'lower context_size or the number of seats' });
  return weights.createContext({
    ...shape,
    threads: chooseThreads(options.threads),
    ...(signal && { createSignal: signal }),
  });
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
