import type { GgufInsights, Llama } from 'node-llama-cpp';
import { Fault } from '../../protocol/fault.ts';
import { ceilMegabytes } from '../../base/units.ts';
import type { KvCacheType, LoadOptions } from '../contract/engine.ts';
import { isWithin, type MemoryUse } from '../contract/memory.ts';
import type { ContextSettings, EstimateContext, FittedContext } from './fitContext.ts';
import { cacheTypeOptions } from './kvCache/cacheType.ts';

/** Each slot takes the memory of a whole context, used or not, and the memory belongs to the game. */
const defaultSlots = 4;

const maxDefaultContextSize = 8192;
/** Tokens of a batch. A cancel waits for at most one prefill chunk. */
export const prefillChunkTokens = 256;

/** Options of a context that its memory depends on, for its creation and for estimates. */
export const contextShape = (contextSize: number) =>
  ({ contextSize, batchSize: Math.min(prefillChunkTokens, contextSize), flashAttention: true }) as const;

/** No limit of memory. */
export const unlimitedMemory: MemoryUse = { ram: Infinity, vram: Infinity };

/** The settings of a context that a load asks for, where no limit makes it smaller; and warnings about them. */
export function wantedContext(
  { slots, contextSize: requested }: Pick<LoadOptions, 'slots' | 'contextSize'>,
  trained: number,
): ContextSettings & { readonly notes: readonly string[] } {
  const wanted = { slots: slots || defaultSlots, notes: [] };
  if (requested === 0) return { ...wanted, contextSize: Math.min(maxDefaultContextSize, trained) };
  if (requested <= trained) return { ...wanted, contextSize: requested };
  const note = `context_size ${requested} is more than the ${trained} tokens this model was trained on: ${trained} is used`;
  return { ...wanted, contextSize: trained, notes: [note] };
}

/** An embedding model gets a short context unless more is asked for: its compute buffers grow with the square of it. */
const defaultEmbeddingContextSize = 512;

/** As `wantedContext`, of an embedding model, which evaluates one text at a time. */
export const wantedEmbeddingContext = ({ contextSize }: Pick<LoadOptions, 'contextSize'>, trained: number) =>
  wantedContext({ slots: 1, contextSize: contextSize || Math.min(defaultEmbeddingContextSize, trained) }, trained);

/** The library's estimates of the contexts of an embedding model. */
export const embeddingEstimates =
  (insights: GgufInsights, modelGpuLayers: number): EstimateContext =>
  async ({ slots: sequences, contextSize }) => {
    const shape = { contextSize, batchSize: contextSize, sequences, modelGpuLayers, isEmbeddingContext: true };
    return toMemoryUse(await insights.estimateContextResourceRequirementsV2(shape));
  };

/** The library's estimates of the contexts of a model. */
export function contextEstimates(
  insights: GgufInsights,
  { gpuLayers, kvCacheType }: { readonly gpuLayers: number; readonly kvCacheType: KvCacheType | undefined },
): EstimateContext {
  const cache = cacheTypeOptions(kvCacheType ?? 'f16').estimate;
  return async ({ slots, contextSize }) => {
    const shape = { ...contextShape(contextSize), ...cache, sequences: slots, modelGpuLayers: gpuLayers };
    return toMemoryUse(await insights.estimateContextResourceRequirementsV2(shape));
  };
}

/** Memory in the library's terms, in ours. */
export const toMemoryUse = ({ cpuRam, gpuVram }: { readonly cpuRam: number; readonly gpuVram: number }): MemoryUse => ({
  ram: cpuRam,
  vram: gpuVram,
});

/** What all models and contexts of an instance take now. */
export const readMemoryUse = async (llama: Llama): Promise<MemoryUse> => toMemoryUse(await llama.getLlamaMemoryUsage());

/** Warnings about a context that a limit of memory made smaller. */
export function reductionNotes(
  wanted: ContextSettings,
  fitted: ContextSettings,
  isRequested: boolean,
): readonly string[] {
  const why = 'the memory limit leaves no room for more; raise --memory-limit or --vram-limit, or unload other models';
  if (fitted.contextSize < wanted.contextSize)
    return [`its context has ${fitted.contextSize} tokens instead of ${wanted.contextSize}, and one slot: ${why}`];
  if (isRequested && fitted.slots < wanted.slots)
    return [`it has ${fitted.slots} instead of ${wanted.slots} slots: ${why}`];
  return [];
}

/** @throws Fault MODEL_LOAD_FAILED when a context does not fit in what the limits leave for it. */
export function assertContextFits({ slots, contextSize, context }: FittedContext, within: MemoryUse): void {
  if (isWithin(context, within)) return;
  const of = context.ram > within.ram ? (['ram', '--memory-limit'] as const) : (['vram', '--vram-limit'] as const);
  const [part, flag] = of;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `in addition to its weights, ${slots} slot of ${contextSize} tokens needs ${ceilMegabytes(context[part])} MB, and ` +
      `${ceilMegabytes(Math.max(0, within[part]))} MB of ${flag} are left for it: raise it, or use a smaller model`,
  );
}
