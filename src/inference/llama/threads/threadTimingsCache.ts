import { randomBytes } from 'node:crypto';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { makeFolder, readTextIfFile, writeAtomic } from '../../../base/filesystem.ts';
import type { ThreadTimings } from './threadTuner.ts';

/** What identifies a model file in the cache: its name and size, not its folder. */
export interface ModelFile {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
}

/** Cache of thread benchmarks in `threads.json`: the timings of each model on this machine. */
export class ThreadTimingsCache {
  readonly #file: string;
  readonly #folder: string;
  #writing: Promise<void> = Promise.resolve();

  /** @param folder the cache folder; it is made when the first entry is written. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#file = join(folder, 'threads.json');
  }

  /**
   * The timings of a model; undefined when there are none, or when the cache file cannot be read.
   * @param max the maximum number of threads that was benchmarked.
   */
  async get(model: ModelFile, max: number): Promise<ThreadTimings | undefined> {
    const entry = (await this.#read().catch(() => ({}) as Entries))[cacheKey(model, max)];
    if (!Array.isArray(entry) || entry.length === 0 || !entry.every(isTiming)) return undefined;
    return new Map(entry);
  }

  /**
   * Stores the timings of a model, unless the machine is under load: timings that other programs slowed down would be used
   * for ever. A failed write is no error: it only costs another benchmark.
   */
  async set(model: ModelFile, max: number, timings: ThreadTimings): Promise<void> {
    const [load = 0] = loadavg();
    if (load > availableParallelism() * maxLoadPerCore) return;
    this.#writing = this.#writing.then(() => this.#add(model, max, timings));
    await this.#writing;
  }

  async #add(model: ModelFile, max: number, timings: ThreadTimings): Promise<void> {
    try {
      const newest = Object.entries(await this.#read()).slice(-maxCachedModels);
      const entries = { ...Object.fromEntries(newest), [cacheKey(model, max)]: [...timings] };
      await makeFolder(this.#folder);
      const temporary = `${this.#file}.${randomBytes(6).toString('hex')}`;
      await writeAtomic(this.#file, `${JSON.stringify(entries, undefined, 2)}\n`, temporary);
    } catch {
      return;
    }
  }

  /** All entries; none when the file is missing or invalid. @throws the system's error when it cannot be read now. */
  async #read(): Promise<Entries> {
    const text = await readTextIfFile(this.#file);
    try {
      return Object(JSON.parse(text)) as Entries;
    } catch {
      return {};
    }
  }
}

type Entries = Readonly<Record<string, unknown>>;

const maxCachedModels = 200;
const maxLoadPerCore = 0.75;

const isTiming = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'number' && part > 0);

const cacheKey = ({ file, size }: ModelFile, max: number): string =>
  [basename(file), size, cpus()[0]?.model ?? 'unknown', availableParallelism(), max].join(' | ');
