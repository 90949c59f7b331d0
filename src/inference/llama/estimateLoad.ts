import { GgufInsights, InsufficientMemoryError, type Llama, readGgufFileInfo } from 'node-llama-cpp';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { addMemory, type LoadPlan, type MemoryUse, subtractMemory } from '../contract/memory.ts';
import {
  minContextSize,
  fitContext,
  planContext,
  toMemoryUse,
  unlimitedMemory,
  largest,
  vramForContext,
} from './contextMemory.ts';
import { cardsOf } from './libraryFault.ts';
import { validateGgufFile } from './gguf/validateFile.ts';
import type { LlamaInstancePool } from './llamaInstances.ts';
import { checkLoras, loraMemory } from './loras.ts';
import type { ModelFile } from './threads/threadTimingsCache.ts';

/** What a model would take, by the library's estimates: nothing is allocated. @throws Fault MODEL_LOAD_FAILED */
export async function estimateLoad(file: string, options: LoadOptions, pool: LlamaInstancePool): Promise<LoadPlan> {
  try {
    const checked = await checkFiles(file, options.loras);
    const planWith = async (loadOptions: LoadOptions): Promise<LoadPlan> => {
      const llama = await pool.acquire(loadOptions.gpu);
      try {
        return await plan(llama, checked, loadOptions);
      } finally {
        pool.release(loadOptions.gpu, llama);
      }
    };
    return await planWith(options).catch((error: unknown) =>
      error instanceof InsufficientMemoryError ? planWith({ ...options, gpu: 'off' }) : Promise.reject(error),
    );
  } catch (error) {
    throw toLoadFault(file, error, options.signal);
  }
}

async function plan(llama: Llama, file: PlannedFile, options: LoadOptions): Promise<LoadPlan> {
  const { within = unlimitedMemory } = options;
  await limitVram(llama, within);
  const estimates = await readEstimates(llama, file, options);
  const chosen = await chooseLayers(llama, options, async () => estimates);
  const gpuLayers = Math.min(chosen, estimates.totalLayers);
  const weights = await estimates.weights(gpuLayers);
  const { estimate, slots, contextSize } = estimates.context(gpuLayers);
  return { weights, ...(await fitContext(estimate, { slots, contextSize }, subtractMemory(within, weights))) };
}

export interface PlannedFile extends ModelFile {
  readonly loraBytes: number;
}

/** Checks the files of a model before llama.cpp reads them. @throws Fault MODEL_LOAD_FAILED */
export async function checkFiles(file: string, loras: LoadOptions['loras'] = []): Promise<PlannedFile> {
  const size = await validateGgufFile(file);
  return { file, size, loraBytes: await checkLoras(file, loras) };
}

/** The library's estimates of a load, by the number of layers on the card. */
export async function readEstimates(llama: Llama, { file, loraBytes }: PlannedFile, options: LoadOptions) {
  const { within = unlimitedMemory, signal } = options;
  const info = await readGgufFileInfo(file, { sourceType: 'filesystem', ...(signal && { signal }) });
  const insights = await GgufInsights.from(info, llama);
  const useMmap = mapsWeights(llama, within);
  const mapping = useMmap === 'auto' ? {} : { useMmap };
  const trained = insights.trainContextSize ?? Infinity;
  return {
    totalLayers: insights.totalLayers,
    async weights(gpuLayers: number): Promise<MemoryUse> {
      const use = await insights.estimateModelResourceRequirementsV2({ gpuLayers, ...mapping });
      return addMemory(toMemoryUse(use), loraMemory(loraBytes, gpuLayers));
    },
    /** The context that is asked for. */
    context: (gpuLayers: number) => planContext(insights, { trained, gpuLayers }, options),
  };
}

/**
 * How many layers of a model go on the card. Where that is open as many as leave room for its context: for one slot where their
 * number is open as well, and for a short one where a limit may make it shorter.
 * @throws InsufficientMemoryError when the card has room for none.
 */
export async function chooseLayers(
  llama: Llama,
  { gpuLayers = 'auto', slots, within = unlimitedMemory }: LoadOptions,
  read: () => ReturnType<typeof readEstimates>,
): Promise<number> {
  if ((await cardsOf(llama)).length === 0) return 0;
  if (gpuLayers !== 'auto') return gpuLayers;
  const { totalLayers, weights, context } = await read();
  const room = Math.min(within.vram, await vramForContext(llama));
  const shortest = Number.isFinite(within.vram) ? minContextSize : Infinity;
  const fits = async (layers: number): Promise<boolean> => {
    const left = room - (await weights(layers)).vram;
    const { estimate, contextSize } = context(layers);
    const one = { slots: slots || 1, contextSize: Math.min(contextSize, shortest) };
    return left > 0 && (await estimate(one)).vram <= left;
  };
  if (await fits(totalLayers)) return totalLayers;
  const most = await largest(1, totalLayers - 1, fits);
  if (most === undefined) throw new InsufficientMemoryError('no layer of the model fits on the graphics card');
  return most;
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
