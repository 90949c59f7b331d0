import { availableParallelism } from 'node:os';
import type { LlamaContext, LlamaContextOptions, LlamaModel as Weights } from 'node-llama-cpp';
import type { Bytes } from '../modelDetails.ts';
import type { LoadOptions } from '../engine.ts';
import { Beside } from './batching/deferredQueue.ts';
import { watchBatches } from './batching/batchHooks.ts';
import { fairShare, shapeOf, type BatchShape } from './batching/batchScheduler.ts';
import { cacheFault, cacheSettings } from './kvCache/cacheType.ts';
import { checkMemory, freeMemory, freeVram } from './memoryCheck.ts';
import { Tempo } from './batching/batchTimer.ts';
import type { ModelFile, ThreadMemory } from './threads/threadTimingsCache.ts';
import { Threads, fewest, ladder, type ThreadTimes } from './threads/threadTuner.ts';
import { timeThreads } from './threads/threadBenchmark.ts';

/** A model's one context, with what measures and steers it. */
export interface Workplace {
  readonly context: LlamaContext;
  readonly tempo: Tempo;
  readonly beside: Beside;
  /** What a token of a sequence takes in memory, at most. */
  readonly bytesPerToken: number;
  /** What all its seats take. */
  readonly taken: Bytes;
  /** What choosing the threads showed. */
  readonly threadTimes: ThreadTimes;
}

export interface ContextOptions extends Pick<LoadOptions, 'seats' | 'threads' | 'signal' | 'kvCacheType'> {
  /** Tokens. */
  readonly contextSize: number;
  readonly file: ModelFile;
  readonly memory: ThreadMemory | undefined;
}

/** Makes the context of a model, and chooses its seats and threads where nobody else has. @throws Fault MODEL_LOAD_FAILED */
export async function openContext(weights: Weights, options: ContextOptions): Promise<Workplace> {
  const { contextSize, signal, kvCacheType = 'f16' } = options;
  const cache = cacheSettings(kvCacheType);
  const shape = { contextSize, batchSize: Math.min(chunk, contextSize), flashAttention: true };
  const { sequences, bytesPerToken, taken } = await chooseSeats(
    weights,
    { ...shape, ...cache.estimate },
    options.seats,
  );
  const most = options.threads || availableParallelism();
  let threads: Threads | undefined;
  let threadTimes: ThreadTimes = new Map();
  let count = most;
  const beside = new Beside();
  let batchShape: BatchShape = { writing: 0, reading: 0 };
  const tempo = new Tempo((width, ms, now) => threads?.wrote(width, ms, now));
  // Asked before each batch, in the midst of the library's work, where nothing may fail.
  const itemPrioritizationStrategy: Strategy = ({ items, size }) => {
    weights.llama.maxThreads = threads?.count ?? count;
    const batch = fairShare(items, size);
    batchShape = shapeOf(batch);
    return batch;
  };
  weights.llama.maxThreads = 0;
  const making = weights.createContext({
    ...shape,
    ...cache.context,
    sequences,
    threads: { ideal: most, min: 1 },
    batching: { itemPrioritizationStrategy },
    ...(signal && { createSignal: signal }),
  });
  const context = await making.catch((error: unknown) => Promise.reject(cacheFault(kvCacheType, error)));
  watchBatches(context, {
    begins() {
      tempo.begin(batchShape);
      beside.begin();
    },
    ends: () => tempo.end(),
  });
  if (options.threads === 0) {
    threadTimes = await timesOf(context, options, most, (tried) => (count = tried));
    const start = threadTimes.size > 0 ? fewest(threadTimes, availableParallelism()) : halfTheCores(most);
    threads = new Threads({ most, times: threadTimes, start });
  }
  return { context, tempo, beside, bytesPerToken, taken, threadTimes };
}

type Strategy = Exclude<NonNullable<LlamaContextOptions['batching']>['itemPrioritizationStrategy'], string | undefined>;

// So many tokens of prompt hold up a cancel.
const chunk = 256;

/** How fast the model is with how many threads: remembered, or measured where the processor does the work. */
async function timesOf(
  context: LlamaContext,
  { file, memory }: ContextOptions,
  most: number,
  take: (count: number) => void,
): Promise<ThreadTimes> {
  const { gpuLayers, fileInsights } = context.model;
  if (gpuLayers >= fileInsights.totalLayers || most === 1) return new Map();
  const known = await memory?.recall(file, most);
  if (known) return known;
  const times = await timeThreads(context, ladder(most), take);
  if (times.size > 0) await memory?.keep(file, most, times);
  return times;
}

const halfTheCores = (most: number): number => Math.max(1, Math.floor(most / 2));

type EstimateOptions = Parameters<Weights['fileInsights']['estimateContextResourceRequirementsV2']>[0];

/** As many seats as asked for, or what fits well into the free memory. */
async function chooseSeats(
  weights: Weights,
  shape: Omit<EstimateOptions, 'sequences' | 'modelGpuLayers'>,
  asked: number,
): Promise<{ sequences: number; bytesPerToken: number; taken: Bytes }> {
  const need = (sequences: number) =>
    weights.fileInsights.estimateContextResourceRequirementsV2({
      ...shape,
      sequences,
      modelGpuLayers: weights.gpuLayers,
    });
  const [few, more] = [await need(fewestSeats), await need(fewestSeats + 1)];
  const seatRam = more.cpuRam - few.cpuRam;
  const seatVram = more.gpuVram - few.gpuVram;
  const fitting = Math.min(freeMemory() / seatRam, (await freeVram(weights.llama)) / seatVram) * shareOfMemory;
  const sequences = asked || Math.max(fewestSeats, Math.min(mostSeats, Math.floor(fitting)));
  const what = `${sequences} seat${sequences === 1 ? '' : 's'} of ${shape.contextSize} tokens`;
  const { cpuRam, gpuVram } = sequences === fewestSeats ? few : await need(sequences);
  checkMemory({ what, bytes: cpuRam, mend: 'lower context_size or the number of seats' });
  const taken = { ram: cpuRam, vram: gpuVram };
  return { sequences, bytesPerToken: (seatRam + seatVram) / shape.contextSize, taken };
}

const fewestSeats = 4;
const mostSeats = 16;
// The rest is for the game.
const shareOfMemory = 0.25;
