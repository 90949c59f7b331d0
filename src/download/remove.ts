import { rm } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { bytesOf } from './files.ts';
import { find, sought, type Found, type Places } from './found.ts';
import type { Waiting } from './ledger.ts';
import { takeLock } from './lock.ts';
import { badOf, notesPath, partOf } from './part.ts';
import type { Wanted } from './wanted.ts';

/** How the files of a model are removed. */
export interface Removing extends Waiting {
  /** Makes sure that nobody has a file open that is there; it throws when somebody needs it. */
  readonly letGo: () => Promise<void>;
}

/** Removes what was downloaded of a model, whole or in part; returns the bytes that are free now. @throws Fault MODEL_NOT_ON_DISK when there is nothing. */
export async function remove(wanted: Wanted, places: Places, { letGo, ...waiting }: Removing): Promise<number> {
  const targets = sought(wanted, places.folder);
  let freed = 0;
  for (const { path } of targets) {
    const here = [path, partOf(path), badOf(path)];
    const sizes = await Promise.all(here.map(bytesOf));
    if (sizes.every((bytes) => bytes === undefined)) continue;
    await letGo();
    await using _ = await takeLock(path);
    for (const file of [...here, notesPath(partOf(path))]) await rm(file, { force: true });
    freed += sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  }
  if (freed === 0) throw nothing(wanted.name, await find(wanted, places));
  await places.ledger.change((records) => targets.forEach(({ key }) => records.delete(key)), waiting);
  return freed;
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
