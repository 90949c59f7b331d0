import { rm } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { bytesOf } from './disk/atomicFile.ts';
import { find, sought, type Found, type Places } from './locate.ts';
import type { Waiting } from './disk/manifest.ts';
import { takeLock } from './disk/lockFile.ts';
import { badOf, notesPath, partOf } from './disk/partialFile.ts';
import type { Target, Wanted } from './target.ts';

/** How the files of a model are removed. */
export interface Removing extends Waiting {
  /** Makes sure that nobody has a file open, nor opens one before the hold is disposed of; it throws when somebody needs them. */
  readonly letGo: () => Promise<Disposable | undefined>;
}

/** Removes what was downloaded of a model, whole or in part; returns the bytes that are free now. @throws Fault MODEL_NOT_ON_DISK when there is nothing. */
export async function remove(wanted: Wanted, places: Places, { letGo, ...waiting }: Removing): Promise<number> {
  const targets = sought(wanted, places.folder);
  // One hold for all files: half a model is of no use to anybody.
  using _ = (await isAnyThere(targets)) ? await letGo() : undefined;
  let freed = 0;
  for (const { path } of targets) {
    const here = filesAt(path);
    const sizes = await Promise.all(here.map(bytesOf));
    if (sizes.every((bytes) => bytes === undefined)) continue;
    await using _ = await takeLock(path);
    for (const file of [...here, notesPath(partOf(path))]) await rm(file, { force: true });
    freed += sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  }
  if (freed === 0) throw nothing(wanted.name, await find(wanted, places));
  await places.ledger.change((records) => targets.forEach(({ key }) => records.delete(key)), waiting);
  return freed;
}

const filesAt = (path: string): readonly string[] => [path, partOf(path), badOf(path)];

async function isAnyThere(targets: readonly Target[]): Promise<boolean> {
  const sizes = await Promise.all(targets.flatMap(({ path }) => filesAt(path)).map(bytesOf));
  return sizes.some((bytes) => bytes !== undefined);
}

function nothing(name: string, found: Found | undefined): Fault {
  const [file = ''] = found?.files ?? [];
  const why =
    found === undefined
      ? 'is not on disk'
      : found.place === 'own'
        ? `is a file of your own, which is never deleted: ${file}`
        : `is in the cache of the Hugging Face programs, which clean it themselves: ${file}`;
  return new Fault('MODEL_NOT_ON_DISK', `"${name}" ${why}`);
}
