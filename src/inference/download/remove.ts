import { lstat, rm } from 'node:fs/promises';
import { Fault } from '../../protocol/fault.ts';
import { draftPath } from '../../base/filesystem.ts';
import { acquireLock } from './disk/lockFile.ts';
import type { LockWait } from './disk/manifest.ts';
import { badPath, partialPath, resumeInfoPath } from './disk/partialFile.ts';
import { type SearchPaths, locateModel, type LocatedModel, allTargets } from './locate.ts';
import type { ModelSource, Target } from './target.ts';

/** How the files of a model are removed. */
export interface RemoveOptions extends LockWait {
  /**
   * Unloads the model from memory, and blocks loads of it until the result is disposed of.
   * @throws when the model is in use.
   */
  readonly releaseModels: () => Promise<Disposable | undefined>;
}

/**
 * Deletes the downloaded, partial, quarantined and unfinished files of a model, and their records. Returns the bytes that were freed.
 * @throws Fault MODEL_NOT_ON_DISK when there are none, DOWNLOAD_ALREADY_ACTIVE when another process works on one; errors of
 * `releaseModels`.
 */
export async function remove(
  source: ModelSource,
  paths: SearchPaths,
  { releaseModels, ...lockWait }: RemoveOptions,
): Promise<number> {
  const targets = allTargets(source, paths.folder);
  // Loads stay blocked until all files are deleted: some files of a model are of no use.
  using _ = (await hasAnyFile(targets)) ? await releaseModels() : undefined;
  let [freedBytes, isAnyRemoved] = [0, false];
  for (const { path } of targets) {
    const files = filesOf(path);
    const sizes = (await Promise.all(files.map(readFreedBytes))).filter((bytes) => bytes !== undefined);
    if (sizes.length === 0) continue;
    await using _ = await acquireLock(path);
    const resumeInfo = resumeInfoPath(partialPath(path));
    for (const file of [...files, resumeInfo, draftPath(resumeInfo)]) await rm(file, { force: true });
    isAnyRemoved = true;
    freedBytes += sizes.reduce((sum, bytes) => sum + bytes, 0);
  }
  if (!isAnyRemoved) throw nothingToRemove(source.name, await locateModel(source, paths));
  await paths.manifest.update((records) => targets.forEach(({ key }) => records.delete(key)), lockWait);
  return freedBytes;
}

/** Bytes that become free when a file is deleted: 0 when it has another name too. Undefined when there is no file. */
async function readFreedBytes(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats || stats.isDirectory()) return undefined;
  return stats.isFile() && stats.nlink === 1 ? stats.size : 0;
}

// The draft is the copy of a local file, which a killed process left.
const filesOf = (path: string): readonly string[] => [path, partialPath(path), badPath(path), draftPath(path)];

async function hasAnyFile(targets: readonly Target[]): Promise<boolean> {
  const sizes = await Promise.all(targets.flatMap(({ path }) => filesOf(path)).map(readFreedBytes));
  return sizes.some((bytes) => bytes !== undefined);
}

function nothingToRemove(name: string, located: LocatedModel | undefined): Fault {
  const [file = ''] = located?.files ?? [];
  const reason =
    located === undefined
      ? 'is not on disk'
      : located.source === 'own'
        ? `is a file of your own, which is never deleted: ${file}`
        : `is in the cache of the Hugging Face programs, which clean it themselves: ${file}`;
  return new Fault('MODEL_NOT_ON_DISK', `"${name}" ${reason}`);
}
