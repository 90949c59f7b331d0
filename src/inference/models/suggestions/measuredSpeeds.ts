import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder, readTextIfFile, writeAtomic } from '../../../base/filesystem.ts';
import { isObject, tryParseJson } from '../../../base/jsonTypes.ts';
import type { GpuChoice } from '../../contract/engine.ts';
import type { Downloads } from '../../download/downloads.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import { gpuSettingsFor } from '../pool/poolOptions.ts';

interface MeasuredSpeedsOptions {
  readonly downloads: Downloads;
  /** The cache folder; undefined: speeds are kept in memory only. */
  readonly folder: string | undefined;
  /** What models run on, which decides how fast they are. */
  readonly gpu: GpuChoice;
}

type Rates = Readonly<Record<string, number>>;

const maxEntries = 200;
// Smaller changes are not worth a write.
const minChange = 0.05;

/** The decode speeds that were measured last on this machine, in tokens per second, by model file. Servers and commands share them. */
export class MeasuredSpeeds {
  readonly #options: MeasuredSpeedsOptions;
  #inMemory: Rates = {};
  #writing: Promise<void> = Promise.resolve();

  constructor(options: MeasuredSpeedsOptions) {
    this.#options = options;
  }

  /** Undefined: it was not measured with this file, or on this machine. */
  async read(entry: CatalogueEntry): Promise<number | undefined> {
    await this.#writing;
    const [rates, key] = await Promise.all([this.#readRates(), this.#keyOf(entry)]);
    return rates[key];
  }

  /** Keeps a speed. One that cannot be written is lost. */
  record(entry: CatalogueEntry, rate: number): Promise<void> {
    return (this.#writing = this.#writing.then(() => this.#write(entry, rate)).catch(() => undefined));
  }

  async #write(entry: CatalogueEntry, rate: number): Promise<void> {
    const [rates, key] = await Promise.all([this.#readRates(), this.#keyOf(entry)]);
    const last = rates[key] ?? 0;
    if (Math.abs(rate - last) < last * minChange) return;
    const others = Object.entries(rates).filter(([other]) => other !== key);
    this.#inMemory = Object.fromEntries([...others, [key, rate]].slice(-maxEntries));
    const { folder } = this.#options;
    if (folder === undefined) return;
    await makeFolder(folder);
    const path = fileIn(folder);
    await writeAtomic(path, JSON.stringify(this.#inMemory), `${path}.${process.pid}.new`);
  }

  async #readRates(): Promise<Rates> {
    const { folder } = this.#options;
    if (folder === undefined) return this.#inMemory;
    const rates = tryParseJson(await readTextIfFile(fileIn(folder)).catch(() => ''));
    const entries = Object.entries(isObject(rates) ? rates : {});
    return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])));
  }

  /** Another file, a changed one, or one with other settings has another key; one that other machines serve has its name. */
  async #keyOf(entry: CatalogueEntry): Promise<string> {
    const { downloads, gpu } = this.#options;
    const [file = entry.name] = (await downloads.locate(entry))?.files ?? [];
    const version = await stat(file).catch(() => undefined);
    const [variant] = entry.variants;
    const own = gpuSettingsFor({ gpu: variant?.gpu, gpuLayers: variant?.gpu_layers }, { gpu });
    const settings = [own.gpu, own.gpuLayers, variant?.engine, variant?.kv_cache_type ?? 'f16', variant?.server_args];
    return [hostname(), ...settings, file, version?.size, version?.mtimeMs].join(' ');
  }
}

const fileIn = (folder: string): string => join(folder, 'speeds.json');
