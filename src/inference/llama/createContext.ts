import type { BatchItem, LlamaContext, LlamaModel as Weights, PrioritizedBatchItem } from 'node-llama-cpp';
import { availableParallelism } from 'node:os';
import type { LoadOptions } from '../contract/engine.ts';
import {
  type ContextSettings,
  contextShape,
  needsCheckpoints,
  prefillChunkTokens,
  cacheTypeFault,
  cacheTypeOptions,
} from './contextMemory.ts';
import { DeferredQueue, batchLoad, type BatchLoad, scheduleBatch } from './batching/batchScheduler.ts';
import { hookBatches, correctWindowStart } from './nativePatches.ts';
import { ThreadCap, BatchThreads, decodeTuners, type ThreadTuners } from './threads/batchThreads.ts';
import { BatchTimer } from './batching/batchTimer.ts';
import { BatchSequences } from './batching/batchSequences.ts';
import type { ModelFile, ThreadTimingsCache } from './threads/threadTimingsCache.ts';
import { fewestNearFastest, threadCandidates, type ThreadTimings, benchmarkThreads } from './threads/threadTuner.ts';
import { PrefillTuner } from './threads/prefillTuner.ts';

/** Progress of the batches of a context, for a watchdog. */
export interface ContextProgress {
  readonly batchTimer: Pick<BatchTimer, 'running' | 'ended'>;
  /** Milliseconds to evaluate a whole prefill chunk; undefined before it was measured. */
  readonly chunkMs: () => number | undefined;
}

/** A model's llama.cpp context, with its batch timer and thread benchmark. */
export interface ModelContext {
  readonly context: LlamaContext;
  /** Makes another context like it with other slots: same timer and threads. Only one of them may compute. */
  readonly makeContext: (settings: ContextSettings, signal?: AbortSignal) => Promise<LlamaContext>;
  readonly batchTimer: BatchTimer;
  readonly deferredQueue: DeferredQueue;
  readonly threads: Pick<BatchThreads, 'decode' | 'prefill'>;
  readonly threadCap: ThreadCap;
  /** The thread benchmark; empty when the number of threads is fixed or all layers are on the GPU. */
  readonly threadTimings: ThreadTimings;
}

export interface ContextOptions extends Pick<LoadOptions, 'slots' | 'threads' | 'signal' | 'kvCacheType' | 'loras'> {
  /** Tokens. */
  readonly contextSize: number;
  readonly file: ModelFile;
  readonly timingsCache: ThreadTimingsCache | undefined;
  /** Receives the progress of the batches, before the first one. */
  readonly onBatches?: ((progress: ContextProgress) => void) | undefined;
}

/** The options of a load within this process. */
export type OwnLoadOptions = LoadOptions & Pick<ContextOptions, 'onBatches'>;

/** Creates the llama.cpp context; chooses the number of threads if it is open. @throws Fault MODEL_LOAD_FAILED */
export async function createContext(weights: Weights, options: ContextOptions): Promise<ModelContext> {
  const { slots, contextSize, signal, kvCacheType = 'f16', loras = [] } = options;
  const adapters = loras.map(({ file: filePath, scale }) => ({ filePath, scale }));
  const maxThreads = options.threads || availableParallelism();
  const threads = new BatchThreads(maxThreads);
  let threadTimings: ThreadTimings = new Map();
  const deferredQueue = new DeferredQueue();
  let nextLoad: BatchLoad = { decode: 0, prefill: 0 };
  const threadCap = new ThreadCap();
  const batchTimer = new BatchTimer((batch) => threads.onBatch(batch, weights.llama.maxThreads));
  const schedule = (items: readonly BatchItem[], size: number): PrioritizedBatchItem[] => {
    const batch = scheduleBatch(items, size);
    nextLoad = batchLoad(batch);
    // The library applies it to this batch: one call sets both numbers of llama.cpp, for one token and for several.
    weights.llama.maxThreads = threadCap.limit(threads.threadsFor(nextLoad));
    return batch;
  };
  const makeContext = async (shape: ContextSettings, createSignal?: AbortSignal): Promise<LlamaContext> => {
    weights.llama.maxThreads = 0;
    const made = await weights.createContext({
      ...contextShape(shape.contextSize),
      ...cacheTypeOptions(kvCacheType).context,
      sequences: shape.slots,
      threads: { ideal: maxThreads, min: 1 },
      batching: {
        itemPrioritizationStrategy: ({ items, size }) => sequences.choose(items, () => schedule(items, size)),
      },
      ...(adapters.length > 0 && { lora: { adapters } }),
      ...(createSignal && { createSignal }),
    });
    const sequences = new BatchSequences(made, !needsCheckpoints(weights));
    correctWindowStart(made);
    hookBatches(made, {
      onStart() {
        batchTimer.start(nextLoad);
        deferredQueue.runDeferred();
      },
      onEnd: () => batchTimer.end(),
    });
    return made;
  };
  const creation = makeContext({ slots, contextSize }, signal);
  const context = await creation.catch((error: unknown) => Promise.reject(cacheTypeFault(kvCacheType, error)));
  options.onBatches?.({ batchTimer, chunkMs: () => chunkMs(batchTimer, threadTimings) });
  if (options.threads === 0) {
    threadTimings = await readOrMeasureTimings(context, options, maxThreads, (count) => threads.fix(count));
    threads.tune(createTuners(weights, maxThreads, threadTimings));
  }
  return { context, makeContext, batchTimer, deferredQueue, threads, threadCap, threadTimings };
}

// Prefilling a token takes at most as long as decoding one. A short prompt that was held up once would say far more.
export function chunkMs({ prefillMsPerToken, decodeMs }: BatchTimer, timings: ThreadTimings): number | undefined {
  const slowest = timings.size > 0 ? Math.max(...timings.values()) : Infinity;
  const msPerToken = Math.min(prefillMsPerToken.value ?? slowest, decodeMs.value ?? Infinity);
  return msPerToken === Infinity ? undefined : msPerToken * prefillChunkTokens;
}

/** The thread timings of a model: cached, or benchmarked; empty where all layers are on the GPU. */
async function readOrMeasureTimings(
  context: LlamaContext,
  { file, timingsCache }: ContextOptions,
  maxThreads: number,
  applyThreads: (count: number) => void,
): Promise<ThreadTimings> {
  if (isOnGpu(context.model) || maxThreads === 1) return new Map();
  const cached = await timingsCache?.get(file, maxThreads);
  if (cached) return cached;
  const timings = await benchmarkThreads(context, threadCandidates(maxThreads), applyThreads);
  if (timings.size > 0) await timingsCache?.set(file, maxThreads, timings);
  return timings;
}

/** The thread tuners of a context. Prefill starts with all physical cores: a second thread of a core adds little. */
function createTuners(weights: Weights, maxThreads: number, timings: ThreadTimings): ThreadTuners {
  const initialThreads = timings.size > 0 ? fewestNearFastest(timings, availableParallelism()) : halfOf(maxThreads);
  const maxPrefillThreads = Math.max(1, Math.min(maxThreads, weights.llama.cpuMathCores));
  return {
    decode: decodeTuners({ maxThreads, timings, initialThreads }),
    prefill: isOnGpu(weights) ? undefined : new PrefillTuner(maxPrefillThreads),
  };
}

const isOnGpu = ({ gpuLayers, fileInsights }: Weights): boolean => gpuLayers >= fileInsights.totalLayers;
const halfOf = (threads: number): number => Math.max(1, Math.floor(threads / 2));
