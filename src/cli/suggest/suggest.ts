import type { Hardware } from '../../inference/llama/llamaInstances.ts';
import type { KvCacheShape } from '../../inference/llama/gguf/metadata.ts';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';

/** What is known of the files of a model. */
export interface ModelFacts {
  readonly entry: CatalogueEntry;
  readonly status: string;
  /** Why its files cannot be used; undefined: they can, or there are none. */
  readonly problem?: string | undefined;
  /** Size on disk; undefined: not on disk. */
  readonly bytesOnDisk: number | undefined;
  /** From the file; undefined: not on disk. */
  readonly shape: KvCacheShape | undefined;
}

/** The machine that models are suggested for. */
export interface TargetMachine extends Omit<Hardware, 'problem'> {
  /** Memory bandwidth in bytes per second; undefined: not measured. */
  readonly bandwidth: number | undefined;
  /** Slots of a model; 0 = four. */
  readonly slots: number;
}

/**
 * Whether a model fits: `card` = wholly on the graphics card; `memory`; `slow` = in memory, but expected to be slower than
 * people read; `one-slot` = in memory with `--slots 1`; `no`; `unknown` = its size is.
 */
export type Fit = 'card' | 'memory' | 'slow' | 'one-slot' | 'unknown' | 'no';

/** A number, and whether it is known or estimated. */
export interface Figure {
  readonly value: number;
  readonly basis: 'known' | 'estimated' | 'assumed';
}

/** A model, with what it takes. */
export interface Suggestion {
  readonly name: string;
  readonly status: string;
  /** Why its files cannot be used; it fits nowhere. */
  readonly problem: string | undefined;
  readonly fit: Fit;
  /** Bytes of the weights. */
  readonly size: Figure | undefined;
  /** Tokens of the context of a slot. */
  readonly contextSize: number;
  /** Bytes of the KV cache of one slot with its whole context. */
  readonly slotBytes: Figure;
  /** Bytes that must be free: weights, and the KV caches of all slots. */
  readonly neededBytes: number | undefined;
  /** Expected decode speed on the CPU, in tokens per second; undefined: unknown, as on a graphics card. */
  readonly tokensPerSecond: number | undefined;
}

const defaultContextSize = 8192;
const defaultSlots = 4;
// Of a model that is not on disk, and whose entry does not say it. Many models of 3 to 8 billion parameters have this.
const assumedBytesPerToken = 128 * 1024;
const cacheTypeShare = { f16: 1, q8_0: 0.53, q4_0: 0.28 } as const;
// A person reads about five tokens per second.
const minTokensPerSecond = 5;
const order: readonly Fit[] = ['card', 'memory', 'slow', 'one-slot', 'unknown', 'no'];

/**
 * Suggests models, best first: those that fit, then those that were trained for tool calls (others have the format
 * `generic`), larger ones first, because they answer better.
 */
export const suggestModels = (models: readonly ModelFacts[], machine: TargetMachine): readonly Suggestion[] =>
  models
    .map((model) => [suggest(model, machine), model.entry.tool_call_format === 'generic' ? 1 : 0] as const)
    .toSorted(
      ([a, isUntrained], [b, isOtherUntrained]) =>
        order.indexOf(a.fit) - order.indexOf(b.fit) ||
        isUntrained - isOtherUntrained ||
        (b.size?.value ?? 0) - (a.size?.value ?? 0),
    )
    .map(([suggestion]) => suggestion);

function suggest(facts: ModelFacts, machine: TargetMachine): Suggestion {
  const { entry, status, problem, shape } = facts;
  const [variant] = entry.variants;
  const trained = shape?.trainedContext ?? Infinity;
  const contextSize = Math.min(variant?.context_size || defaultContextSize, trained);
  const known = shape?.bytesPerToken ?? variant?.kv_bytes_per_token;
  const bytesPerToken = (known ?? assumedBytesPerToken) * cacheTypeShare[variant?.kv_cache_type ?? 'f16'];
  const slotBytes: Figure = { value: bytesPerToken * contextSize, basis: known ? 'known' : 'assumed' };
  const size = sizeOf(facts);
  const needs = (slots: number): number | undefined => size && size.value + slotBytes.value * slots;
  const neededBytes = needs(machine.slots || defaultSlots);
  // Each token reads all weights, and on average half of the context.
  const readBytes = size && size.value + (known ? slotBytes.value / 2 : 0);
  const cpuRate = machine.bandwidth !== undefined && readBytes ? machine.bandwidth / readBytes : undefined;
  const fit = problem !== undefined ? 'no' : fitOf(neededBytes, needs(1), cpuRate, machine);
  const tokensPerSecond = fit === 'card' || fit === 'no' ? undefined : cpuRate;
  return { name: entry.name, status, problem, fit, size, contextSize, slotBytes, neededBytes, tokensPerSecond };
}

function sizeOf({ entry: { name, variants }, bytesOnDisk }: ModelFacts): Figure | undefined {
  const [variant] = variants;
  const known = bytesOnDisk ?? variant?.size_bytes;
  if (known !== undefined) return { value: known, basis: 'known' };
  const estimate = estimateSize([...(variant?.files ?? []), name]);
  return estimate === undefined ? undefined : { value: estimate, basis: 'estimated' };
}

function fitOf(
  needed: number | undefined,
  withOneSlot: number | undefined,
  cpuRate: number | undefined,
  { freeRam, card }: TargetMachine,
): Fit {
  if (needed === undefined || withOneSlot === undefined) return 'unknown';
  if (card && needed <= card.freeBytes) return 'card';
  if (needed <= freeRam) return cpuRate !== undefined && cpuRate < minTokensPerSecond ? 'slow' : 'memory';
  return withOneSlot <= freeRam ? 'one-slot' : 'no';
}

// Bits per weight of whole models as llama.cpp quantizes them; some tensors have more bits than the name says.
const bitsPerWeight = new Map(
  `F32 32, F16 16, BF16 16, Q8_0 8.5, Q6_K 6.56, Q5_K_M 5.7, Q5_K_S 5.5, Q5_0 5.5, Q4_K_M 4.85, Q4_K_S 4.6,
  MXFP4 4.63, Q4_0 4.55, IQ4_XS 4.3, IQ4_NL 4.5, Q3_K_L 4.3, Q3_K_M 3.9, Q3_K_S 3.5, Q2_K 3.2`
    .split(/,\s+/)
    .map((row) => row.split(' '))
    .map(([name, bits]) => [name, Number(bits)] as const),
);

/**
 * Estimates the size of a model in bytes from names such as `qwen2.5-3b-instruct-q4_k_m.gguf`; undefined where none has
 * the number of parameters, or none the quantization.
 */
export function estimateSize(names: readonly string[]): number | undefined {
  const isKnown = (value: number | undefined): boolean => value !== undefined;
  const parameters = names.map(parseParameters).find(isKnown);
  const bits = names.map(parseBits).find(isKnown);
  return parameters === undefined || bits === undefined ? undefined : (parameters * bits) / 8;
}

/** The number of parameters in a name: 3B, 0.5B, 360M. */
function parseParameters(name: string): number | undefined {
  const [, count, unit] = /(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])/i.exec(name) ?? [];
  if (count === undefined || unit === undefined) return undefined;
  return Number(count) * (unit.toLowerCase() === 'b' ? 1e9 : 1e6);
}

function parseBits(name: string): number | undefined {
  const [quantization] = /(?<![a-z0-9])(?:i?q\d_[a-z0-9]+(?:_[sml])?|b?f16|f32|mxfp4)(?![a-z0-9])/i.exec(name) ?? [];
  return quantization === undefined ? undefined : bitsPerWeight.get(quantization.toUpperCase());
}

const maxThreads = 4;
const measureMs = 200;
// Both buffers of all threads together are larger than the caches of the processor.
const bufferBytes = 64 * 1024 * 1024;

// Comparing equal buffers reads both, with the widest instructions of the processor. The threads wait for each other, so
// that they read at the same time.
const source = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { bufferBytes, measureMs, ready, threads } = workerData;
  const [first, second] = [Buffer.alloc(bufferBytes, 1), Buffer.alloc(bufferBytes, 1)];
  Atomics.add(ready, 0, 1);
  Atomics.notify(ready, 0);
  for (let count; (count = Atomics.load(ready, 0)) < threads; ) Atomics.wait(ready, 0, count);
  const start = performance.now();
  let bytes = 0;
  let ms = 0;
  while (ms < measureMs) {
    first.compare(second);
    bytes += 2 * bufferBytes;
    ms = performance.now() - start;
  }
  parentPort.postMessage((bytes * 1000) / ms);
`;

/**
 * Measures the memory bandwidth in bytes per second, for a fraction of a second: reads by up to four threads at a time.
 * Undefined when it cannot be measured, for example for want of memory.
 */
export async function measureBandwidth(): Promise<number | undefined> {
  const threads = Math.min(availableParallelism(), maxThreads);
  const ready = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData = { bufferBytes, measureMs, ready, threads };
  const workers = Array.from({ length: threads }, () => new Worker(source, { eval: true, workerData }));
  try {
    const rates = await Promise.all(workers.map(nextMessage));
    return rates.reduce((sum, rate) => sum + rate, 0);
  } catch {
    return undefined;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

const nextMessage = (worker: Worker): Promise<number> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the worker has ended')));
  });
