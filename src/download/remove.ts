import { rm } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { fileSize } from './disk/modelFile.ts';
import { locateModel, targetsOrEmpty, type LocatedModel, type SearchPaths } from './locate.ts';
import type { LockWait } from './disk/manifest.ts';
import { acquireLock } from './disk/lockFile.ts';
import { badPath, resumeInfoPath, partialPath } from './disk/partialFile.ts';
import type { Target, ModelSource } from './target.ts';

/** How the files of a model are removed. */
export interface RemoveOptions extends LockWait {
  /** Makes sure that nobody has a file open, nor opens one before the hold is disposed of; it throws when somebody needs them. */
  readonly releaseModels: () => Promise<Disposable | undefined>;
}

/** Removes what was downloaded of a model, whole or in part; returns the bytes that are free now. @throws Fault MODEL_NOT_ON_DISK when there is nothing. */
export async function remove(
  source: ModelSource,
  places: SearchPaths,
  { releaseModels, ...waiting }: RemoveOptions,
): Promise<number> {
  const targets = targetsOrEmpty(source, places.folder);
  // One hold for all files: half a model is of no use to anybody.
  using _ = (await isAnyThere(targets)) ? await releaseModels() : undefined;
  let freed = 0;
  for (const { path } of targets) {
    const here = filesAt(path);
    const sizes = await Promise.all(here.map(fileSize));
    if (sizes.every((bytes) => bytes === undefined)) continue;
    await using _ = await acquireLock(path);
    for (const file of [...here, resumeInfoPath(partialPath(path))]) await rm(file, { force: true });
    freed += sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  }
  if (freed === 0) throw nothingToRemove(source.name, await locateModel(source, places));
  await places.manifest.update((records) => targets.forEach(({ key }) => records.delete(key)), waiting);
  return freed;
}

const filesAt = (path: string): readonly string[] => [path, partialPath(path), badPath(path)];

async function isAnyThere(targets: readonly Target[]): Promise<boolean> {
  const sizes = await Promise.all(targets.flatMap(({ path }) => filesAt(path)).map(fileSize));
  return sizes.some((bytes) => bytes !== undefined);
}

function nothingToRemove(name: string, found: LocatedModel | undefined): Fault {
  const [file = ''] = found?.files ?? [];
  const why =
    found === undefined
      ? 'is not on disk'
      : found.source === 'own'
        ? `is a file of your own, which is never deleted: ${file}`
        : `is in the cache of the Hugging Face programs, which clean it themselves: ${file}`;
  return new Fault('MODEL_NOT_ON_DISK', `"${name}" ${why}`);
}
