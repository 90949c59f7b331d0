import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskQuota, QuotaFile } from '../../../base/diskQuota.ts';
import { describeError } from '../../../protocol/fault.ts';
import { describeFsError, makeFolder } from '../../../base/filesystem.ts';
import type { Log } from '../../../base/log.ts';
import {
  readVectorFile,
  vectorFileBytes,
  writeVectorFile,
  type ExpectedVectors,
  type SavedVectors,
} from './vectorFile.ts';

/**
 * The vectors of storages on disk, kept over restarts in the folder `vectors` of the cache folder: one file for each storage and
 * model, named by a hash of both. What was not used for the longest time is deleted when the quota is full. Other servers may
 * use the folder at the same time: files appear as a whole, and may vanish.
 */
export class VectorStore {
  readonly #folder: string;
  readonly #quota: DiskQuota;
  readonly #log: Log;
  readonly #files = new Map<string, QuotaFile>();
  #scanned: Promise<void> | undefined;

  /** @param cache the cache folder. */
  constructor(cache: string, quota: DiskQuota, log: Log) {
    this.#folder = join(cache, 'vectors');
    this.#quota = quota;
    this.#log = log;
  }

  /** Reads vectors, which are in use until `release`; undefined when there are none. A file that cannot be used is deleted. */
  async read(expected: ExpectedVectors): Promise<SavedVectors | undefined> {
    await (this.#scanned ??= this.#scan());
    const { id } = expected;
    const path = this.#pathOf(id);
    const { size: bytes } = (await stat(path).catch(() => undefined)) ?? {};
    if (bytes === undefined) return undefined;
    const file = await this.#hold(id, bytes);
    try {
      const saved = await readVectorFile(path, expected);
      // The next server deletes what was not used for the longest time.
      await utimes(path, new Date(), new Date()).catch(() => undefined);
      return saved;
    } catch (error) {
      this.#log.warn(
        { file: path, why: describeError(error) },
        'a file of vectors cannot be used: they are computed again',
      );
      await file?.drop();
      await remove(path);
      return undefined;
    }
  }

  /** Writes vectors, which are in use until `release`. @returns why not; undefined: they are written. */
  async write(id: string, saved: SavedVectors): Promise<string | undefined> {
    await (this.#scanned ??= this.#scan());
    const path = this.#pathOf(id);
    const bytes = vectorFileBytes(saved.matrix);
    const file = await this.#hold(id, bytes);
    if (!file) return `--cache-limit has no room for ${bytes} bytes`;
    try {
      await makeFolder(this.#folder, 0o700);
      await writeVectorFile(path, id, saved, `${path}.${randomBytes(6).toString('hex')}.part`);
      return undefined;
    } catch (error) {
      await file.drop();
      return describeFsError(error);
    }
  }

  /** The vectors are not in memory any more: their file may be deleted when the quota is full. */
  release(id: string): void {
    const file = this.#files.get(id);
    if (file) file.inUse = false;
  }

  async #hold(id: string, bytes: number): Promise<QuotaFile | undefined> {
    const known = this.#files.get(id);
    if (known) {
      known.inUse = true;
      this.#quota.touch(known);
      return known;
    }
    return this.#add(id, bytes, true);
  }

  /** Adds a file to the quota; undefined when that has no room for it. */
  async #add(id: string, bytes: number, inUse: boolean): Promise<QuotaFile | undefined> {
    const drop = async (): Promise<void> => {
      this.#quota.delete(file);
      this.#files.delete(id);
      await remove(this.#pathOf(id));
    };
    const file: QuotaFile = { bytes, inUse, drop };
    if (!(await this.#quota.add(file))) return undefined;
    this.#files.set(id, file);
    return file;
  }

  /** Finds what earlier servers have written, and deletes what they have not finished. */
  async #scan(): Promise<void> {
    const found: { readonly id: string; readonly bytes: number; readonly usedMs: number }[] = [];
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name);
      const [, id = '', draft] = namePattern.exec(name) ?? [];
      const info = await stat(path).catch(() => undefined);
      if (id === '' || !info) continue;
      if (draft === undefined) found.push({ id, bytes: info.size, usedMs: info.mtimeMs });
      else if (Date.now() - info.mtimeMs > abandonedAfterMs) await remove(path);
    }
    for (const { id, bytes } of found.toSorted((a, b) => a.usedMs - b.usedMs))
      if (!(await this.#add(id, bytes, false))) await remove(this.#pathOf(id));
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}.vec`);
  }
}

/** What cannot be removed now is found by the next scan. */
const remove = (path: string): Promise<void> => rm(path, { force: true }).catch(() => undefined);

const namePattern = /^([0-9a-f]{64})\.vec(\.[0-9a-f]{12}\.part)?$/;
const abandonedAfterMs = 3_600_000;
