import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskCache, type DiskQuota, type QuotaFile } from '../../../base/diskCache.ts';
import { describeFsError } from '../../../base/filesystem.ts';
import { describeError } from '../../../protocol/fault.ts';
import type { Log } from '../../../base/log.ts';
import type { ExpectedVectors, SavedVectors } from './vectorFile.ts';
import { readVectorFile, vectorFileBytes, writeVectorFile } from './vectorFile.ts';

export type VectorStore = ReturnType<typeof vectorStore>;

/** Vectors in the folder `vectors` of the cache folder, a file for each storage and model; written as a whole. */
export function vectorStore(folder: string, quota: DiskQuota, log: Log) {
  const cache = new DiskCache<undefined>({
    folder: join(folder, 'vectors'),
    quota,
    extensions: ['vec'],
    read: (_, bytes) => Promise.resolve({ bytes, content: undefined }),
  });
  let scanned: Promise<void> | undefined;
  const hold = async (id: string, bytes: number): Promise<QuotaFile | undefined> => {
    const known = cache.entries.get(id);
    if (!known) return cache.add(id, { bytes, content: undefined }, true);
    known.inUse = true;
    return known;
  };
  return {
    /** Reads vectors, which are in use until `release`; undefined when there are none. A file that cannot be used is deleted. */
    async read(expected: ExpectedVectors): Promise<SavedVectors | undefined> {
      await (scanned ??= cache.scan());
      const { id } = expected;
      const path = cache.pathOf(id);
      const { size: bytes } = (await stat(path).catch(() => undefined)) ?? {};
      if (bytes === undefined) return undefined;
      await hold(id, bytes);
      try {
        const saved = await readVectorFile(path, expected);
        await cache.touch(id);
        return saved;
      } catch (error) {
        log.warn(
          { file: path, why: describeError(error) },
          'a file of vectors cannot be used: they are computed again',
        );
        await cache.remove(id);
        return undefined;
      }
    },
    /** Writes vectors, which are in use until `release`. @returns why not; undefined: they are written. */
    async write(id: string, saved: SavedVectors): Promise<string | undefined> {
      await (scanned ??= cache.scan());
      const bytes = vectorFileBytes(saved.matrix);
      const file = await hold(id, bytes);
      if (!file) return `--cache-limit has no room for ${bytes} bytes`;
      try {
        await writeVectorFile(cache.pathOf(id), id, saved, await cache.createDraftPath(id));
        await cache.touch(id);
        return undefined;
      } catch (error) {
        await file.drop();
        return describeFsError(error);
      }
    },
    /** The vectors are not in memory any more: their file may be deleted when the quota is full. */
    release(id: string): void {
      const file = cache.entries.get(id);
      if (file) file.inUse = false;
    },
  };
}
