import { randomBytes } from 'node:crypto';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { makeFolder, readTextIfFile, writeAtomic } from '../../../base/filesystem.ts';
import { tryParseJson } from '../../../base/jsonTypes.ts';
import type { ThreadTimings } from './threadTuner.ts';

/** What identifies a model file in the cache: its name and size, not its folder. */
export interface ModelFile {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
}

/** The thread benchmarks of this machine in `threads.json`. @param folder made when the first entry is written. */
export function threadTimingsCache(folder: string) {
  const file = join(folder, 'threads.json');
  let writing: Promise<void> = Promise.resolve();
  const add = async (model: ModelFile, max: number, timings: ThreadTimings): Promise<void> => {
    const newest = Object.entries(await readEntries(file)).slice(-maxCachedModels);
    const entries = { ...Object.fromEntries(newest), [cacheKey(model, max)]: [...timings] };
    await makeFolder(folder);
    await writeAtomic(file, `${JSON.stringify(entries, undefined, 2)}\n`, `${file}.${randomBytes(6).toString('hex')}`);
  };
  return {
    /** The timings of a model; undefined: none, or no readable file. @param max threads that were benchmarked. */
    async get(model: ModelFile, max: number): Promise<ThreadTimings | undefined> {
      const entry = (await readEntries(file).catch(() => ({}) as Entries))[cacheKey(model, max)];
      if (!Array.isArray(entry) || entry.length === 0 || !entry.every(isTiming)) return undefined;
      return new Map(entry);
    },
    /**
     * Stores the timings of a model, unless the machine is under load: timings that other programs slowed down would be used
     * for ever. A failed write is no error: it only costs another benchmark.
     */
    async set(model: ModelFile, max: number, timings: ThreadTimings): Promise<void> {
      const [load = 0] = loadavg();
      if (load > availableParallelism() * maxLoadPerCore) return;
      writing = writing.then(() => add(model, max, timings)).catch(() => undefined);
      await writing;
    },
  };
}

export type ThreadTimingsCache = ReturnType<typeof threadTimingsCache>;

/** All entries; none when the file is missing or invalid. @throws the system's error when it cannot be read now. */
const readEntries = async (file: string): Promise<Entries> =>
  Object(tryParseJson(await readTextIfFile(file))) as Entries;

type Entries = Readonly<Record<string, unknown>>;

const maxCachedModels = 200;
const maxLoadPerCore = 0.75;

const isTiming = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'number' && part > 0);

const cacheKey = ({ file, size }: ModelFile, max: number): string =>
  [basename(file), size, cpus()[0]?.model ?? 'unknown', availableParallelism(), max].join(' | ');
