import { GgufInsights, type Llama, readGgufFileInfo } from 'node-llama-cpp';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { addMemory, type LoadPlan, type MemoryUse, subtractMemory } from '../contract/memory.ts';
import {
  contextEstimates,
  embeddingEstimates,
  fitContext,
  toMemoryUse,
  unlimitedMemory,
  wantedContext,
  wantedEmbeddingContext,
} from './contextMemory.ts';
import { validateGgufFile } from './gguf/validateFile.ts';
import type { LlamaInstancePool } from './llamaInstances.ts';
import { checkLoras, loraMemory } from './loras.ts';

/** What a model would take, by the library's estimates: nothing is allocated. @throws Fault MODEL_LOAD_FAILED */
export async function estimateLoad(
  file: string,
  options: LoadOptions,
  instances: LlamaInstancePool,
): Promise<LoadPlan> {
  try {
    await validateGgufFile(file);
    const loraBytes = await checkLoras(file, options.loras ?? []);
    const llama = await instances.acquire(options.gpu);
    try {
      return await plan(llama, { file, loraBytes }, options);
    } finally {
      instances.release(options.gpu, llama);
    }
  } catch (error) {
    throw toLoadFault(file, error, options.signal);
  }
}

async function plan(
  llama: Llama,
  { file, loraBytes }: { readonly file: string; readonly loraBytes: number },
  options: LoadOptions,
): Promise<LoadPlan> {
  const { within = unlimitedMemory, kvCacheType, signal } = options;
  await limitVram(llama, within);
  const info = await readGgufFileInfo(file, { sourceType: 'filesystem', ...(signal && { signal }) });
  const insights = await GgufInsights.from(info, llama);
  const useMmap = mapsWeights(llama, within);
  const layers = options.gpuLayers ?? 'auto';
  const { gpuLayers } = await insights.configurationResolver.resolveModelGpuLayersV2(layers, { useMmap });
  const mapping = useMmap === 'auto' ? {} : { useMmap };
  const modelUse = toMemoryUse(await insights.estimateModelResourceRequirementsV2({ gpuLayers, ...mapping }));
  const weights = addMemory(modelUse, loraMemory(loraBytes, gpuLayers));
  const trained = insights.trainContextSize ?? Infinity;
  const isEmbedding = options.purpose === 'embedding';
  const wanted = isEmbedding ? wantedEmbeddingContext(options, trained) : wantedContext(options, trained);
  const estimates = isEmbedding
    ? embeddingEstimates(insights, gpuLayers)
    : contextEstimates(insights, { gpuLayers, kvCacheType });
  const { slots, contextSize, context, slot } = await fitContext(estimates, wanted, subtractMemory(within, weights));
  return { weights, slots, contextSize, context, slot };
}

/** Limits what the layers that the library puts on the card by itself may take. */
export const limitVram = (llama: Llama, { vram }: MemoryUse): Promise<void> =>
  llama.setVramCap(Number.isFinite(vram) ? vram : null);

/**
 * Whether weights are mapped from their file; 'auto' lets the library decide. Not without a card, nor within a limit: a processor
 * copies most quantised weights into formats of its own (the AMX and repacked buffers of llama.cpp), and the mapped pages would
 * be resident as well.
 */
export const mapsWeights = ({ gpu }: Llama, { ram }: MemoryUse): 'auto' | false =>
  gpu === false || Number.isFinite(ram) ? false : 'auto';

/** The Fault of a model that could not be loaded, with its file. */
export function toLoadFault(file: string, error: unknown, signal: AbortSignal | undefined): Fault {
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
