import { availableParallelism } from 'node:os';
import type { LlamaContext, LlamaContextOptions, LlamaModel as Weights } from 'node-llama-cpp';
import type { MemoryUse } from '../modelDetails.ts';
import type { LoadOptions } from '../engine.ts';
import { DeferredQueue } from './batching/deferredQueue.ts';
import { hookBatches } from './batching/batchHooks.ts';
import { scheduleBatch, batchLoad, type BatchLoad } from './batching/batchScheduler.ts';
import { cacheTypeFault, cacheTypeOptions } from './kvCache/cacheType.ts';
import { checkMemory, freeMemory, freeVram } from './memoryCheck.ts';
import { BatchTimer } from './batching/batchTimer.ts';
import type { ModelFile, ThreadTimingsCache } from './threads/threadTimingsCache.ts';
import { ThreadTuner, fewestNearFastest, threadCandidates, type ThreadTimings } from './threads/threadTuner.ts';
import { benchmarkThreads } from './threads/threadBenchmark.ts';

/** A model's one context, with what measures and steers it. */
export interface ModelContext {
  readonly context: LlamaContext;
  readonly batchTimer: BatchTimer;
  readonly deferredQueue: DeferredQueue;
  /** What a token of a sequence takes in memory, at most. */
  readonly bytesPerToken: number;
  /** What all its slots take. */
  readonly slotMemory: MemoryUse;
  /** What choosing the threads showed. */
  readonly threadTimings: ThreadTimings;
}

export interface ContextOptions extends Pick<LoadOptions, 'slots' | 'threads' | 'signal' | 'kvCacheType'> {
  /** Tokens. */
  readonly contextSize: number;
  readonly file: ModelFile;
  readonly timingsCache: ThreadTimingsCache | undefined;
}

/** Makes the context of a model, and chooses its slots and threads where nobody else has. @throws Fault MODEL_LOAD_FAILED */
export async function createContext(weights: Weights, options: ContextOptions): Promise<ModelContext> {
  const { contextSize, signal, kvCacheType = 'f16' } = options;
  const cache = cacheTypeOptions(kvCacheType);
  const shape = { contextSize, batchSize: Math.min(prefillChunkTokens, contextSize), flashAttention: true };
  const {
    sequences,
    bytesPerToken,
    taken: slotMemory,
  } = await chooseSlotCount(weights, { ...shape, ...cache.estimate }, options.slots);
  const max = options.threads || availableParallelism();
  let threads: ThreadTuner | undefined;
  let threadTimings: ThreadTimings = new Map();
  let count = max;
  const deferredQueue = new DeferredQueue();
  let batchShape: BatchLoad = { decode: 0, prefill: 0 };
  const batchTimer = new BatchTimer((width, ms, now) => threads?.onDecodeBatch(width, ms, now));
  // Asked before each batch, in the midst of the library's work, where nothing may fail.
  const itemPrioritizationStrategy: ItemPrioritizationStrategy = ({ items, size }) => {
    weights.llama.maxThreads = threads?.count ?? count;
    const batch = scheduleBatch(items, size);
    batchShape = batchLoad(batch);
    return batch;
  };
  weights.llama.maxThreads = 0;
  const making = weights.createContext({
    ...shape,
    ...cache.context,
    sequences,
    threads: { ideal: max, min: 1 },
    batching: { itemPrioritizationStrategy },
    ...(signal && { createSignal: signal }),
  });
  const context = await making.catch((error: unknown) => Promise.reject(cacheTypeFault(kvCacheType, error)));
  hookBatches(context, {
    onStart() {
      batchTimer.start(batchShape);
      deferredQueue.runDeferred();
    },
    onEnd: () => batchTimer.end(),
  });
  if (options.threads === 0) {
    threadTimings = await measureThreads(context, options, max, (tried) => (count = tried));
    const start = threadTimings.size > 0 ? fewestNearFastest(threadTimings, availableParallelism()) : halfTheCores(max);
    threads = new ThreadTuner({ maxThreads: max, timings: threadTimings, initialThreads: start });
  }
  return { context, batchTimer, deferredQueue, bytesPerToken, slotMemory, threadTimings };
}

type ItemPrioritizationStrategy = Exclude<
  NonNullable<LlamaContextOptions['batching']>['itemPrioritizationStrategy'],
  string | undefined
>;

// So many tokens of prompt hold up a cancel.
const prefillChunkTokens = 256;

/** How fast the model is with how many threads: remembered, or measured where the processor does the work. */
async function measureThreads(
  context: LlamaContext,
  { file, timingsCache: memory }: ContextOptions,
  max: number,
  take: (count: number) => void,
): Promise<ThreadTimings> {
  const { gpuLayers, fileInsights } = context.model;
  if (gpuLayers >= fileInsights.totalLayers || max === 1) return new Map();
  const known = await memory?.get(file, max);
  if (known) return known;
  const times = await benchmarkThreads(context, threadCandidates(max), take);
  if (times.size > 0) await memory?.set(file, max, times);
  return times;
}

const halfTheCores = (max: number): number => Math.max(1, Math.floor(max / 2));

type EstimateOptions = Parameters<Weights['fileInsights']['estimateContextResourceRequirementsV2']>[0];

/** As many slots as asked for, or what fits well into the free memory. */
async function chooseSlotCount(
  weights: Weights,
  shape: Omit<EstimateOptions, 'sequences' | 'modelGpuLayers'>,
  asked: number,
): Promise<{ sequences: number; bytesPerToken: number; taken: MemoryUse }> {
  const need = (sequences: number) =>
    weights.fileInsights.estimateContextResourceRequirementsV2({
      ...shape,
      sequences,
      modelGpuLayers: weights.gpuLayers,
    });
  const [few, more] = [await need(minSlots), await need(minSlots + 1)];
  const slotRam = more.cpuRam - few.cpuRam;
  const slotVram = more.gpuVram - few.gpuVram;
  const fitting = Math.min(freeMemory() / slotRam, (await freeVram(weights.llama)) / slotVram) * maxMemoryShare;
  const sequences = asked || Math.max(minSlots, Math.min(maxSlots, Math.floor(fitting)));
  const what = `${sequences} slot${sequences === 1 ? '' : 's'} of ${shape.contextSize} tokens`;
  const { cpuRam, gpuVram } = sequences === minSlots ? few : await need(sequences);
  checkMemory({ what, bytes: cpuRam, hint: 'lower context_size or the number of slots' });
  const slotMemory = { ram: cpuRam, vram: gpuVram };
  return { sequences, bytesPerToken: (slotRam + slotVram) / shape.contextSize, taken: slotMemory };
}

const minSlots = 4;
const maxSlots = 16;
// The rest is for the game.
const maxMemoryShare = 0.25;
