import type { Hardware } from '../../inference/llama/llamaInstances.ts';
import type { KvCacheShape } from '../../inference/llama/gguf/metadata.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { estimateSize } from './modelSize.ts';

/** What is known of the files of a model. */
export interface ModelFacts {
  readonly entry: CatalogueEntry;
  readonly status: string;
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
// Of a model that is not on disk the shape is unknown. This is that of many models of 3 to 8 billion parameters.
const assumedBytesPerToken = 128 * 1024;
const cacheTypeShare = { f16: 1, q8_0: 0.53, q4_0: 0.28 } as const;
// A person reads about five tokens per second.
const minTokensPerSecond = 5;
const order: readonly Fit[] = ['card', 'memory', 'slow', 'one-slot', 'unknown', 'no'];

/** Suggests models, best first: those that fit, larger ones first, because they answer better. */
export const suggestModels = (models: readonly ModelFacts[], machine: TargetMachine): readonly Suggestion[] =>
  models
    .map((model) => suggest(model, machine))
    .toSorted((a, b) => order.indexOf(a.fit) - order.indexOf(b.fit) || (b.size?.value ?? 0) - (a.size?.value ?? 0));

function suggest(facts: ModelFacts, machine: TargetMachine): Suggestion {
  const { entry, status, shape } = facts;
  const [variant] = entry.variants;
  const trained = shape?.trainedContext ?? Infinity;
  const contextSize = Math.min(variant?.context_size || defaultContextSize, trained);
  const bytesPerToken =
    (shape?.bytesPerToken ?? assumedBytesPerToken) * cacheTypeShare[variant?.kv_cache_type ?? 'f16'];
  const slotBytes: Figure = { value: bytesPerToken * contextSize, basis: shape ? 'known' : 'assumed' };
  const size = sizeOf(facts);
  const needs = (slots: number): number | undefined => size && size.value + slotBytes.value * slots;
  const neededBytes = needs(machine.slots || defaultSlots);
  // Each token reads all weights, and on average half of the context.
  const readBytes = size && size.value + (shape ? slotBytes.value / 2 : 0);
  const cpuRate = machine.bandwidth !== undefined && readBytes ? machine.bandwidth / readBytes : undefined;
  const fit = fitOf(neededBytes, needs(1), cpuRate, machine);
  const tokensPerSecond = fit === 'card' || fit === 'no' ? undefined : cpuRate;
  return { name: entry.name, status, fit, size, contextSize, slotBytes, neededBytes, tokensPerSecond };
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
