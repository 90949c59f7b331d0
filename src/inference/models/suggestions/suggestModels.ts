import { runChunk } from '../../../base/eventLoop.ts';
import { memoizedByKey } from '../../../base/memoized.ts';
import { formatBytes } from '../../../base/units.ts';
import { type MemoryUse, noMemory } from '../../contract/memory.ts';
import { isDownloadable } from '../catalogue/catalogue.ts';
import { isRemote } from '../catalogue/remoteEntry.ts';
import type { MeasuredMachine } from './machine.ts';
import type { ModelFacts } from './modelFacts.ts';
import { estimateSize } from './modelSize.ts';

/** The machine that models are suggested for. */
export interface TargetMachine extends Pick<MeasuredMachine, 'freeRam' | 'card' | 'bandwidth'> {
  /** Slots of a model; 0 = four. */
  readonly slots: number;
  /** Free bytes of the disk that models are downloaded to; undefined: unknown. */
  readonly freeDisk?: number | undefined;
}

/** What models must have. */
export interface ModelWish {
  /** Expected tokens per second; 0 = any. */
  readonly minTokensPerSecond: number;
  /** Of the files; 0 = any. */
  readonly maxBytes: number;
  /** Codes of languages, all of which the model must know. */
  readonly languages: readonly string[];
}

const noWish: ModelWish = { minTokensPerSecond: 0, maxBytes: 0, languages: [] };

/**
 * Whether a model fits: `card` = wholly on the graphics card; `memory`; `slow` = in memory, but expected to be slower than
 * people read; `one-slot` = in memory with `--slots 1`; `no`; `unknown` = its size is.
 */
type Fit = 'card' | 'memory' | 'slow' | 'one-slot' | 'unknown' | 'no';

interface Figure {
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
  /** Bytes that are missing on disk. */
  readonly downloadBytes: number;
  /** Decode speed in tokens per second: measured, or expected on the CPU; undefined: unknown, as on a graphics card. */
  readonly tokensPerSecond: number | undefined;
  readonly isMeasured: boolean;
  /** Whether it cannot be used, or is not what is wished for. */
  readonly isLeftOut: boolean;
  /** Why it is left out, or is suggested. */
  readonly why: string;
}

const defaultContextSize = 8192;
const defaultSlots = 4;
// Of a model that is not on disk, and whose entry does not say it. Many models of 3 to 8 billion parameters have this.
const assumedBytesPerToken = 128 * 1024;
const cacheTypeShare = { f16: 1, q8_0: 0.53, q4_0: 0.28 } as const;
// A person reads about five tokens per second.
const minTokensPerSecond = 5;
// Milliseconds, also with a wish for a hundred languages.
const modelsPerChunk = 32;
const order: readonly Fit[] = ['card', 'memory', 'slow', 'one-slot', 'unknown', 'no'];

/**
 * Suggests models, best first: those that can be used, of these those whose entry names the languages that are wished for, then
 * those that fit best, then those that were trained for tool calls (others have the format `generic`), larger ones first, because
 * they answer better.
 */
export async function suggestModels(
  models: readonly ModelFacts[],
  machine: TargetMachine,
  wish: ModelWish = noWish,
): Promise<readonly Suggestion[]> {
  const suggested: { readonly model: ModelFacts; readonly suggestion: Suggestion }[] = [];
  for (let start = 0; start < models.length; start += modelsPerChunk)
    await runChunk(() => {
      for (const model of models.slice(start, start + modelsPerChunk))
        suggested.push({ model, suggestion: suggest(model, machine, wish) });
    });
  return suggested
    .toSorted(
      (a, b) =>
        Number(a.suggestion.isLeftOut) - Number(b.suggestion.isLeftOut) ||
        compareBy(a.model, b.model, ({ entry }) => wish.languages.length > 0 && entry.languages === undefined) ||
        order.indexOf(a.suggestion.fit) - order.indexOf(b.suggestion.fit) ||
        compareBy(a.model, b.model, ({ entry }) => entry.tool_call_format === 'generic') ||
        (b.suggestion.size?.value ?? 0) - (a.suggestion.size?.value ?? 0),
    )
    .map(({ suggestion }) => suggestion);
}

const compareBy = (a: ModelFacts, b: ModelFacts, comesLater: (facts: ModelFacts) => boolean): number =>
  Number(comesLater(a)) - Number(comesLater(b));

function suggest(facts: ModelFacts, machine: TargetMachine, wish: ModelWish): Suggestion {
  const { entry, status } = facts;
  const [variant] = entry.variants;
  const isEmbedding = entry.purpose === 'embedding';
  const trained = facts.shape?.trainedContext ?? Infinity;
  const contextSize = Math.min(variant?.context_size || defaultContextSize, trained);
  const known = facts.shape?.bytesPerToken ?? variant?.kv_bytes_per_token;
  const bytesPerToken = (known ?? assumedBytesPerToken) * cacheTypeShare[variant?.kv_cache_type ?? 'f16'];
  const slotBytes: Figure = isEmbedding
    ? { value: 0, basis: 'known' }
    : { value: bytesPerToken * contextSize, basis: known ? 'known' : 'assumed' };
  const size = sizeOf(facts);
  const needs = (slots: number): number | undefined => size && size.value + slotBytes.value * slots;
  const neededBytes = needs(machine.slots || defaultSlots);
  // Each token reads all weights, and on average half of the context.
  const readBytes = size && size.value + (known ? slotBytes.value / 2 : 0);
  const { measuredRate } = facts;
  const isEstimable = machine.bandwidth !== undefined && readBytes && !isEmbedding;
  const rate = measuredRate ?? (isEstimable ? machine.bandwidth / readBytes : undefined);
  const problem = canDownload(facts) ? undefined : facts.problem;
  const target = withHeldMemory(machine, facts.held);
  const fit = problem !== undefined ? 'no' : fitOf(neededBytes, needs(1), rate, target);
  const tokensPerSecond = fit === 'no' || (fit === 'card' && measuredRate === undefined) ? undefined : rate;
  const isMeasured = tokensPerSecond !== undefined && measuredRate !== undefined;
  // Never 0: more may have come than an estimated size, and the model is not on disk yet.
  const missingBytes = size ? Math.max(1, Math.round(size.value) - (facts.keptBytes ?? 0)) : 0;
  const downloadBytes = canDownload(facts) ? missingBytes : 0;
  const memory = { contextSize, slotBytes, neededBytes: fit === 'one-slot' ? needs(1) : neededBytes };
  const figures = { fit, size, ...memory, downloadBytes };
  const speed = { tokensPerSecond, isMeasured };
  const obstacle = findObstacle(facts, { ...figures, ...speed }, target, wish);
  const why = obstacle ?? describeFit(facts, fit, wish);
  return { name: entry.name, status, problem, ...figures, ...speed, isLeftOut: obstacle !== undefined, why };
}

const canDownload = ({ entry, bytesOnDisk }: ModelFacts): boolean => bytesOnDisk === undefined && isDownloadable(entry);

/** A loaded model needs no more than it has. */
const withHeldMemory = (machine: TargetMachine, { ram, vram }: MemoryUse = noMemory): TargetMachine => ({
  ...machine,
  freeRam: machine.freeRam + ram,
  card: machine.card && { ...machine.card, freeBytes: machine.card.freeBytes + vram },
});

const fitReasons: Readonly<Record<Exclude<Fit, 'unknown' | 'no'>, string>> = {
  card: 'it fits on the graphics card',
  memory: 'it fits in memory',
  slow: 'it fits in memory, but is slower than people read',
  'one-slot': 'it fits in memory with one slot',
};

function describeFit({ entry, measuredRate }: ModelFacts, fit: Fit, { languages }: ModelWish): string {
  const isUntrained = entry.purpose === 'chat' && entry.tool_call_format === 'generic';
  return [
    fit === 'unknown' || fit === 'no' ? '' : fitReasons[fit],
    measuredRate === undefined ? '' : describeRate(measuredRate),
    isUntrained ? 'it was not trained for tool calls' : '',
    languages.length > 0 && entry.languages === undefined ? 'its entry does not name its languages' : '',
  ]
    .filter(Boolean)
    .join('; ');
}

type Needs = Omit<Suggestion, 'name' | 'status' | 'problem' | 'isLeftOut' | 'why'>;

/** Why a model is not suggested; undefined: it is. */
function findObstacle(
  facts: ModelFacts,
  { fit, size, slotBytes, downloadBytes, tokensPerSecond, isMeasured }: Needs,
  { freeRam, card, freeDisk = Infinity }: TargetMachine,
  { minTokensPerSecond: min, maxBytes, languages }: ModelWish,
): string | undefined {
  const { entry, bytesOnDisk, problem } = facts;
  if (isRemote(entry)) return 'other machines serve it';
  if (bytesOnDisk === undefined && !canDownload(facts))
    return 'it is not on disk, and its entry names no place to download it from';
  if (bytesOnDisk !== undefined && problem !== undefined) return problem;
  if (size === undefined) return 'its size is unknown; add size_bytes to its entry';
  if (fit === 'no') {
    const free = `${formatBytes(Math.max(0, freeRam), 1)} of memory${card ? ` and ${formatBytes(card.freeBytes, 1)} of the graphics card` : ''}`;
    return `it needs about ${formatBytes(size.value + slotBytes.value, 1)}, and ${free} are free`;
  }
  if (maxBytes > 0 && size.value > maxBytes)
    return `its files have ${formatBytes(size.value, 1)}, and at most ${formatBytes(maxBytes, 1)} are wished for`;
  if (downloadBytes > freeDisk)
    return `its download has ${formatBytes(downloadBytes, 1)}, and ${formatBytes(freeDisk, 1)} of the disk are free`;
  const known = entry.languages?.split(' ') ?? [];
  const codes = known.map(shortCode);
  const missing = languages.filter((language) => !codes.includes(shortCode(language)));
  if (known.length > 0 && missing.length > 0)
    return `its languages are ${known.join(', ')}, without ${missing.join(', ')}`;
  if (min === 0 || (fit === 'card' && !isMeasured)) return undefined;
  if (tokensPerSecond === undefined) return 'its speed is unknown, because the memory bandwidth could not be measured';
  if (tokensPerSecond < min)
    return isMeasured
      ? `${describeRate(tokensPerSecond)}, and at least ${min} are wished for`
      : `about ${showRate(tokensPerSecond)} tokens per second are expected, and at least ${min} are wished for`;
  return undefined;
}

/** Of codes for one language the same one: `deu` and `de` are `de`. */
const shortCode = memoizedByKey(String, (code: string) => new Intl.Locale(code).language);

/** Tokens per second as people are told them: in two digits. */
export const showRate = (rate: number): number => Number(rate.toPrecision(2));

/** What was measured, as the beginning of a sentence. */
export const describeRate = (rate: number): string => `${showRate(rate)} tokens per second were measured`;

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
  rate: number | undefined,
  { freeRam, card }: TargetMachine,
): Fit {
  if (needed === undefined || withOneSlot === undefined) return 'unknown';
  if (card && needed <= card.freeBytes) return 'card';
  if (needed <= freeRam) return rate !== undefined && rate < minTokensPerSecond ? 'slow' : 'memory';
  return withOneSlot <= freeRam ? 'one-slot' : 'no';
}
