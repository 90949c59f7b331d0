import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskCache, type DiskQuota, type QuotaFile } from '../../../base/diskCache.ts';
import { describeFsError } from '../../../base/filesystem.ts';
import { describeError } from '../../../protocol/fault.ts';
import type { Log } from '../../../base/log.ts';
import type { ExpectedVectors, SavedVectors } from './vectorFile.ts';
import { readVectorFile, vectorFileBytes, writeVectorFile } from './vectorFile.ts';

/** Vectors in the folder `vectors` of the cache folder, a file for each storage and model; written as a whole. */
export class VectorStore {
  readonly #cache: DiskCache<undefined>;
  readonly #log: Log;
  #scanned: Promise<void> | undefined;

  constructor(cache: string, quota: DiskQuota, log: Log) {
    this.#cache = new DiskCache({
      folder: join(cache, 'vectors'),
      quota,
      extensions: ['vec'],
      read: (_, bytes) => Promise.resolve({ bytes, content: undefined }),
    });
    this.#log = log;
  }

  /** Reads vectors, which are in use until `release`; undefined when there are none. A file that cannot be used is deleted. */
  async read(expected: ExpectedVectors): Promise<SavedVectors | undefined> {
    await (this.#scanned ??= this.#cache.scan());
    const { id } = expected;
    const path = this.#cache.pathOf(id);
    const { size: bytes } = (await stat(path).catch(() => undefined)) ?? {};
    if (bytes === undefined) return undefined;
    await this.#hold(id, bytes);
    try {
      const saved = await readVectorFile(path, expected);
      await this.#cache.touch(id);
      return saved;
    } catch (error) {
      this.#log.warn(
        { file: path, why: describeError(error) },
        'a file of vectors cannot be used: they are computed again',
      );
      await this.#cache.remove(id);
      return undefined;
    }
  }

  /** Writes vectors, which are in use until `release`. @returns why not; undefined: they are written. */
  async write(id: string, saved: SavedVectors): Promise<string | undefined> {
    await (this.#scanned ??= this.#cache.scan());
    const bytes = vectorFileBytes(saved.matrix);
    const file = await this.#hold(id, bytes);
    if (!file) return `--cache-limit has no room for ${bytes} bytes`;
    try {
      await writeVectorFile(this.#cache.pathOf(id), id, saved, await this.#cache.createDraftPath(id));
      await this.#cache.touch(id);
      return undefined;
    } catch (error) {
      await file.drop();
      return describeFsError(error);
    }
  }

  /** The vectors are not in memory any more: their file may be deleted when the quota is full. */
  release(id: string): void {
    const file = this.#cache.entries.get(id);
    if (file) file.inUse = false;
  }

  async #hold(id: string, bytes: number): Promise<QuotaFile | undefined> {
    const known = this.#cache.entries.get(id);
    if (!known) return this.#cache.add(id, { bytes, content: undefined }, true);
    known.inUse = true;
    return known;
  }
}
