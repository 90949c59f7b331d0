import { bytesOf } from './disk/atomicFile.ts';
import { inHubCache } from './hub/localCache.ts';
import type { FileRecord, Ledger } from './disk/manifest.ts';
import { ownFiles, targetsOf, type Target, type Wanted } from './target.ts';

/** Where the files of a model are. */
export interface Found {
  /** own = the catalogue's local_path; folder = the models folder; cache = that of the hub's other programs. */
  readonly place: 'own' | 'folder' | 'cache';
  /** Absolute paths, in the order of the catalogue; the first is loaded. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** Where to look for models. */
export interface Places {
  readonly folder: string;
  readonly cache: string;
  readonly ledger: Ledger;
}

/** Finds the files of a model, all of them in one place: the user's own, downloaded ones, those of the hub's cache. */
export async function find(wanted: Wanted, { folder, cache, ledger }: Places): Promise<Found | undefined> {
  const own = await together('own', ownFiles(wanted));
  if (own) return own;
  const targets = sought(wanted, folder);
  const records = targets.length === 0 ? new Map<string, FileRecord>() : await ledger.read();
  const whole = await Promise.all(targets.map((target) => isWhole(target, records.get(target.key))));
  const ours = whole.every((is) => is)
    ? await together(
        'folder',
        targets.map(({ path }) => path),
      )
    : undefined;
  if (ours) return ours;
  const cached = await Promise.all(targets.map((target) => inHubCache(cache, target)));
  const files = cached.filter((path) => path !== undefined);
  if (files.length < targets.length) return undefined;
  const found = await together('cache', files);
  const { bytes } = (targets.length === 1 && targets[0]?.expected) || {};
  return bytes === undefined || found?.bytes === bytes ? found : undefined;
}

/** The files that could be downloaded; none where the entry cannot be. */
export function sought(wanted: Wanted, folder: string): readonly Target[] {
  try {
    return targetsOf(wanted, folder);
  } catch {
    return [];
  }
}

/** Whether a file in the models folder is the one that the catalogue and its record mean. */
export async function isWhole({ path, expected }: Target, record: FileRecord | undefined): Promise<boolean> {
  const bytes = await bytesOf(path);
  if (bytes === undefined || bytes !== (record?.bytes ?? bytes) || bytes !== (expected.bytes ?? bytes)) return false;
  return !record?.sha256 || record.sha256 === (expected.sha256 ?? record.sha256);
}

async function together(place: Found['place'], files: readonly string[]): Promise<Found | undefined> {
  const sizes = await Promise.all(files.map(bytesOf));
  const there = sizes.filter((bytes) => bytes !== undefined);
  if (files.length === 0 || there.length < files.length) return undefined;
  return { place, files, bytes: there.reduce((sum, bytes) => sum + bytes, 0) };
}
