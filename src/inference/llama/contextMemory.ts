import type { GgmlType, GgufInsights, Llama, LlamaModel as Weights } from 'node-llama-cpp';
import { freemem } from 'node:os';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { KvCacheType, LoadOptions, Model } from '../contract/engine.ts';
import { isWithin, type MemoryUse, subtractMemory } from '../contract/memory.ts';
import { ceilMegabytes } from '../../base/units.ts';
import type { ModelFile } from './threads/threadTimingsCache.ts';

/** How many slots a context has, and how many tokens each of them. */
export interface ContextSettings {
  readonly slots: number;
  readonly contextSize: number;
}

export interface FittedContext extends ContextSettings {
  readonly context: MemoryUse;
  /** What each slot has of it. */
  readonly slot: MemoryUse;
}

export type EstimateContext = (settings: ContextSettings) => Promise<MemoryUse>;

/** A context is not made shorter than this, in tokens, unless it is asked to be. */
export const minContextSize = 2048;
const contextStep = 256;

/** Fits a context in memory: fewer slots first, down to one, then a shorter context, at last the smallest. */
export async function fitContext(
  estimate: EstimateContext,
  wanted: ContextSettings,
  within: MemoryUse,
): Promise<FittedContext> {
  const fits = async (tried: ContextSettings): Promise<boolean> => isWithin(await estimate(tried), within);
  const settings = (await fits(wanted)) ? wanted : await reduce(fits, wanted);
  const context = await estimate(settings);
  const oneMore = await estimate({ ...settings, slots: settings.slots + 1 });
  return { ...settings, context, slot: subtractMemory(oneMore, context) };
}

async function reduce(
  fits: (settings: ContextSettings) => Promise<boolean>,
  { slots, contextSize }: ContextSettings,
): Promise<ContextSettings> {
  const fewer = await largest(1, slots - 1, (count) => fits({ slots: count, contextSize }));
  if (fewer !== undefined) return { slots: fewer, contextSize };
  const shortest = Math.min(minContextSize, contextSize);
  const steps = Math.floor((contextSize - shortest) / contextStep);
  const sizeOf = (step: number): number => shortest + step * contextStep;
  const step = await largest(0, steps, (count) => fits({ slots: 1, contextSize: sizeOf(count) }));
  return { slots: 1, contextSize: sizeOf(step ?? 0) };
}

/** The largest whole number that passes a test which all smaller ones pass; undefined: none does. */
export async function largest(
  from: number,
  to: number,
  passes: (value: number) => Promise<boolean>,
): Promise<number | undefined> {
  let [low, high] = [from, to];
  while (low <= high) {
    const middle = Math.ceil((low + high) / 2);
    if (await passes(middle)) low = middle + 1;
    else high = middle - 1;
  }
  return high < from ? undefined : high;
}

/** Each slot takes the memory of a whole context, used or not, and the memory belongs to the game. */
const defaultSlots = 4;
const maxDefaultContextSize = 8192;

/** Tokens of a batch. A cancel waits for at most one prefill chunk. */
export const prefillChunkTokens = 256;

/** Options of a context that its memory depends on, for its creation and for estimates. */
export const contextShape = (contextSize: number) =>
  ({ contextSize, batchSize: Math.min(prefillChunkTokens, contextSize), flashAttention: true }) as const;

export const unlimitedMemory: MemoryUse = { ram: Infinity, vram: Infinity };

/**
 * The tokens that each slot has at first: the memory of a KV cache is taken as a whole when it is made, and most conversations
 * are short. Slots on the CPU get more when a conversation needs it (`SlotResizer.reserve`), if that saves much memory and their
 * states can be kept meanwhile.
 */
export function firstContextSize({ slots, contextSize, slot }: FittedContext, canGrow: boolean): number {
  const saved = slots * slot.ram * (1 - minContextSize / contextSize);
  return canGrow && slot.vram === 0 && saved >= minSavedBytes ? minContextSize : contextSize;
}

const minSavedBytes = 64 * 2 ** 20;

/** An embedding model gets a short context unless more is asked for: its compute buffers grow with the square of it. */
const defaultEmbeddingContextSize = 512;

/**
 * Options of the context of an embedding model, for its creation and for estimates. The library takes only texts that are
 * shorter than the context, and a model without causal attention sees its text only as a whole.
 */
export const embeddingShape = (contextSize: number) => ({ contextSize: contextSize + 1, batchSize: contextSize });

// It has one slot. The library aborts where it estimates an odd batch for two.
const embeddingEstimates =
  (insights: GgufInsights, modelGpuLayers: number): EstimateContext =>
  async ({ contextSize }) => {
    const shape = { ...embeddingShape(contextSize), sequences: 1, modelGpuLayers, isEmbeddingContext: true };
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

/**
 * Plans the context that a load asks for, and that no limit makes smaller.
 * @param trained the size that the model was trained with.
 * @returns also estimates of such contexts, and warnings for the user.
 */
export function planContext(
  insights: GgufInsights,
  { trained, gpuLayers }: { readonly trained: number; readonly gpuLayers: number },
  options: LoadOptions,
) {
  const { purpose, kvCacheType, contextSize: requested } = options;
  const plan =
    purpose === 'embedding'
      ? { estimate: embeddingEstimates(insights, gpuLayers), slots: 1 }
      : { estimate: contextEstimates(insights, { gpuLayers, kvCacheType }), slots: options.slots || defaultSlots };
  const ofOwnChoice = purpose === 'embedding' ? defaultEmbeddingContextSize : maxDefaultContextSize;
  if (requested <= trained) return { ...plan, contextSize: requested || Math.min(ofOwnChoice, trained), notes: [] };
  const note = `context_size ${requested} is more than the ${trained} tokens this model was trained on: ${trained} is used`;
  return { ...plan, contextSize: trained, notes: [note] };
}

export interface LoadedWeights {
  readonly weights: Weights;
  /** What the instance took after the load, before there is a context. */
  readonly loaded: MemoryUse;
  readonly weightMemory: MemoryUse;
  /** Warnings for the user. */
  readonly notes: readonly string[];
  readonly file: ModelFile;
  /** To be called when the model that they become is closed. */
  readonly onClose: (model: Model) => unknown;
}

/** What the context takes that was made after the load of its weights. */
export const contextMemoryOf = async ({ weights, loaded }: LoadedWeights): Promise<MemoryUse> =>
  subtractMemory(await readMemoryUse(weights.llama), loaded);

/** The context that fits, and warnings about it. @throws Fault MODEL_LOAD_FAILED when memory is too small. */
export async function fitLoadedContext(
  { weights, weightMemory }: LoadedWeights,
  options: LoadOptions,
): Promise<FittedContext & { readonly notes: readonly string[] }> {
  const { fileInsights, gpuLayers, llama, trainContextSize: trained } = weights;
  const { estimate, notes, ...wanted } = planContext(fileInsights, { trained, gpuLayers }, options);
  const within = subtractMemory(options.within ?? unlimitedMemory, weightMemory);
  const fitsOnCard = async (slots: number): Promise<boolean> =>
    (await estimate({ ...wanted, slots })).vram <= (await vramForContext(llama));
  const isOpen = options.slots === 0 && gpuLayers > 0;
  const most = (isOpen && (await largest(1, wanted.slots, fitsOnCard))) || wanted.slots;
  const fitted = await fitContext(estimate, { ...wanted, slots: most }, within);
  assertContextFits(fitted, within);
  const { slots, contextSize, context } = fitted;
  const [what, hint] =
    options.purpose === 'embedding'
      ? [`a context of ${contextSize} tokens`, 'lower context_size of the model']
      : [
          `${slots} slot${slots === 1 ? '' : 's'} of ${contextSize} tokens`,
          'lower context_size or the number of slots',
        ];
  checkMemory({ what, bytes: context.ram, hint });
  return { ...fitted, notes: [...notes, ...reductionNotes(wanted, fitted, options.slots > 0)] };
}

/** Memory in the library's terms, in ours. */
export const toMemoryUse = ({ cpuRam, gpuVram }: { readonly cpuRam: number; readonly gpuVram: number }): MemoryUse => ({
  ram: cpuRam,
  vram: gpuVram,
});

/** What all models and contexts of an instance take now. */
export const readMemoryUse = async (llama: Llama): Promise<MemoryUse> => toMemoryUse(await llama.getLlamaMemoryUsage());

function reductionNotes(wanted: ContextSettings, fitted: ContextSettings, isRequested: boolean): readonly string[] {
  const why = 'the memory limit leaves no room for more; raise --memory-limit or --vram-limit, or unload other models';
  if (fitted.contextSize < wanted.contextSize)
    return [`its context has ${fitted.contextSize} tokens instead of ${wanted.contextSize}, and one slot: ${why}`];
  if (isRequested && fitted.slots < wanted.slots)
    return [`it has ${fitted.slots} instead of ${wanted.slots} slots: ${why}`];
  return [];
}

/** @throws Fault MODEL_LOAD_FAILED when a context does not fit in what the limits leave for it. */
function assertContextFits({ slots, contextSize, context }: FittedContext, within: MemoryUse): void {
  if (isWithin(context, within)) return;
  const [part, flag] =
    context.ram > within.ram ? (['ram', '--memory-limit'] as const) : (['vram', '--vram-limit'] as const);
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `in addition to its weights, ${slots} slot of ${contextSize} tokens needs ${ceilMegabytes(context[part])} MB, and ` +
      `${ceilMegabytes(Math.max(0, within[part]))} MB of ${flag} are left for it: raise it, or use a smaller model`,
  );
}

/** Free RAM in bytes. Respects the memory limits of containers from Node 20.13 on. */
export const freeMemory = (): number => process.availableMemory?.() ?? freemem();

/** GPU memory that a context may take: the library leaves some of it to others. Infinity without a GPU, which is no limit. */
export const vramForContext = async (llama: Llama): Promise<number> =>
  llama.gpu === false ? Infinity : (await llama.getVramState()).free - llama.vramPaddingSize;

/** Free RAM and GPU memory; 0 bytes of the latter without a GPU. */
export async function freeBytes(llama: Llama): Promise<MemoryUse> {
  return { ram: freeMemory(), vram: llama.gpu === false ? 0 : (await llama.getVramState()).free };
}

/** @throws Fault MODEL_LOAD_FAILED when it does not fit in free RAM: the system might kill the process. */
export function checkMemory(need: { readonly what: string; readonly bytes: number; readonly hint: string }): void {
  const free = freeMemory();
  if (need.bytes <= free) return;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `${need.what} need ${ceilMegabytes(need.bytes)} MB of memory and ${ceilMegabytes(free)} MB are free: ${need.hint}`,
  );
}

// The values of node-llama-cpp's enum GgmlType: importing the enum would load the library.
const ggmlTypes: Readonly<Record<Exclude<KvCacheType, 'f16'>, GgmlType>> = { q8_0: 8, q4_0: 2 };

/** Library options of a KV cache type (llama.cpp: --cache-type-k, --cache-type-v); empty for its default. */
export function cacheTypeOptions(type: KvCacheType) {
  if (type === 'f16') return { estimate: {}, context: {} };
  const ggmlType = ggmlTypes[type];
  return {
    estimate: { kvCacheKeyType: ggmlType, kvCacheValueType: ggmlType },
    context: { experimentalKvCacheKeyType: ggmlType, experimentalKvCacheValueType: ggmlType },
  };
}

/** Warnings about a KV cache type for the user; none for the default. */
export const cacheTypeWarnings = (type: KvCacheType): readonly string[] =>
  type === 'f16'
    ? []
    : [
        `its kv_cache_type ${type} is experimental: answers can be worse, and with some models it does not work; f16 does`,
      ];

/** Converts the error of a context's creation to a Fault that names the cache type, if that is a possible cause. */
export function cacheTypeFault(type: KvCacheType, error: unknown): unknown {
  if (type === 'f16') return error;
  const why = describeError(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `no context could be made with its kv_cache_type ${type}, which is experimental (${why}): take f16`,
    { cause: error },
  );
}

/** Whether the KV caches of a model cannot be cut back without checkpoints. */
export const needsCheckpoints = ({ fileInsights: { isRecurrent, isHybrid, swaSize } }: Weights): boolean =>
  isRecurrent || isHybrid || swaSize !== undefined;
