import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder, readTextIfFile, writeAtomic } from '../../../base/filesystem.ts';
import { isObject, tryParseJson } from '../../../base/jsonTypes.ts';
import type { GpuChoice } from '../../contract/engine.ts';
import type { Downloads } from '../../download/downloads.ts';
import type { LocatedModel } from '../../download/locate.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import { gpuSettingsFor } from '../pool/poolOptions.ts';

interface MeasuredSpeedsOptions {
  readonly downloads: Downloads;
  /** The cache folder; undefined: speeds are kept in memory only. */
  readonly folder: string | undefined;
  /** What models run on, which decides how fast they are. */
  readonly gpu: GpuChoice;
}

/** Tokens per second, the newest last, by model file. */
type Rates = Readonly<Record<string, readonly number[]>>;

/** What was measured of a model; without members: nothing, or not with this file on this machine. */
export interface MeasuredSpeed {
  /** Tokens per second, the best of the last turns: other programs slow turns down, and none is too fast. */
  readonly measuredRate?: number;
  readonly measuredTurns?: number;
}

/** A model is slow when this many turns were: one alone may have run on a busy machine. */
export const minMeasuredTurns = 3;
const maxTurns = 5;
const maxEntries = 200;
// Smaller changes are not worth a write.
const minChange = 0.05;

export type MeasuredSpeeds = ReturnType<typeof measuredSpeeds>;

/** The decode speeds of the last turns on this machine, by model file. Servers and commands share them. */
export function measuredSpeeds({ downloads, folder, gpu }: MeasuredSpeedsOptions) {
  /** Those that could not be written. */
  let unwritten: Rates = {};
  let writing: Promise<void> = Promise.resolve();
  const readRates = async (): Promise<Rates> => {
    const text = folder === undefined ? '' : await readTextIfFile(fileIn(folder)).catch(() => '');
    const saved = tryParseJson(text);
    return { ...Object.fromEntries(Object.entries(isObject(saved) ? saved : {}).filter(isRates)), ...unwritten };
  };
  /** Another file, a changed one, or one with other settings has another key; one that other machines serve has its name. */
  const keyOf = async (entry: CatalogueEntry, locating = downloads.locate(entry)): Promise<string> => {
    const [file = entry.name] = (await locating)?.files ?? [];
    const version = await stat(file).catch(() => undefined);
    const [variant] = entry.variants;
    const own = gpuSettingsFor(variant, { gpu });
    const settings = [own.gpu, own.gpuLayers, variant?.engine, variant?.kv_cache_type ?? 'f16', variant?.server_args];
    return [hostname(), ...settings, file, version?.size, version?.mtimeMs].join(' ');
  };
  const write = async (entry: CatalogueEntry, change: ChangeRates): Promise<void> => {
    const [rates, key] = await Promise.all([readRates(), keyOf(entry)]);
    const { [key]: last = [], ...others } = rates;
    const changed = change(last);
    if (changed === last) return;
    unwritten = { ...unwritten, [key]: changed };
    if (folder === undefined) return;
    await makeFolder(folder);
    const path = fileIn(folder);
    const all = Object.fromEntries([...Object.entries(others), [key, changed]].slice(-maxEntries));
    await writeAtomic(path, JSON.stringify(all), `${path}.${process.pid}.new`);
    unwritten = {};
  };
  const change = (entry: CatalogueEntry, changeRates: ChangeRates): Promise<void> =>
    (writing = writing.then(() => write(entry, changeRates)).catch(() => undefined));
  return {
    async read(entry: CatalogueEntry, locating?: Promise<LocatedModel | undefined>): Promise<MeasuredSpeed> {
      await writing;
      const [rates, key] = await Promise.all([readRates(), keyOf(entry, locating)]);
      const own = rates[key];
      return own ? { measuredRate: Math.max(...own), measuredTurns: own.length } : {};
    },
    /** Keeps the speed of a turn. */
    record: (entry: CatalogueEntry, rate: number): Promise<void> =>
      change(entry, (rates) => {
        const isKnown = rates.length === maxTurns && Math.abs(rate / Math.max(...rates) - 1) < minChange;
        return isKnown ? rates : [...rates, rate].slice(-maxTurns);
      }),
    /** Keeps a speed that was measured for its own sake, in place of those of turns. */
    replace: (entry: CatalogueEntry, rate: number): Promise<void> =>
      change(entry, () => Array.from({ length: minMeasuredTurns }, () => rate)),
  };
}

type ChangeRates = (rates: readonly number[]) => readonly number[];

const fileIn = (folder: string): string => join(folder, 'speeds.json');

const isRates = (saved: [string, unknown]): saved is [string, readonly number[]] =>
  Array.isArray(saved[1]) && saved[1].length > 0 && saved[1].every(Number.isFinite);
