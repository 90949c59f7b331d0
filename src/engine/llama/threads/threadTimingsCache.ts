import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { makeFolder, writeAtomic } from '../../../filesystem.ts';
import type { ThreadTimings } from './threadTuner.ts';

/** A model file as far as its speed goes. */
export interface ModelFile {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
}

/** Remembers in a cache folder how fast each model was with how many threads on this machine. */
export class ThreadTimingsCache {
  readonly #file: string;
  readonly #folder: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
    this.#file = join(folder, 'threads.json');
  }

  /** What was measured for a model; undefined when nothing was, or when the memory cannot be read. */
  async get(model: ModelFile, max: number): Promise<ThreadTimings | undefined> {
    const entry = (await this.#read())[cacheKey(model, max)];
    if (!Array.isArray(entry) || entry.length === 0 || !entry.every(isTime)) return undefined;
    return new Map(entry);
  }

  /**
   * Keeps what was measured, if the machine had little else to do: what other programs slowed down would be believed for
   * good. A memory that cannot be written costs another measurement, and is no error.
   */
  async set(model: ModelFile, max: number, times: ThreadTimings): Promise<void> {
    const [load = 0] = loadavg();
    if (load > availableParallelism() * maxIdleLoad) return;
    this.#writing = this.#writing.then(() => this.#add(model, max, times));
    await this.#writing;
  }

  async #add(model: ModelFile, max: number, times: ThreadTimings): Promise<void> {
    try {
      const known = Object.entries(await this.#read()).slice(-maxCachedModels);
      const all = { ...Object.fromEntries(known), [cacheKey(model, max)]: [...times] };
      await makeFolder(this.#folder);
      const draft = `${this.#file}.${randomBytes(6).toString('hex')}`;
      await writeAtomic(this.#file, `${JSON.stringify(all, undefined, 2)}\n`, draft);
    } catch {
      return;
    }
  }

  async #read(): Promise<Record<string, unknown>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file, 'utf8'));
      return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
    } catch {
      return {};
    }
  }
}

const maxCachedModels = 200;
const maxIdleLoad = 0.75;

const isTime = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'number' && part > 0);

const cacheKey = ({ file, size }: ModelFile, max: number): string =>
  [basename(file), size, cpus()[0]?.model ?? 'unknown', availableParallelism(), max].join(' | ');
