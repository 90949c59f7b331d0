import { fileSize } from './disk/modelFile.ts';
import { findInHubCache } from './hub/localCache.ts';
import type { FileRecord, DownloadManifest } from './disk/manifest.ts';
import { localFiles, targetsOf, type Target, type ModelSource } from './target.ts';

/** Where the files of a model are. */
export interface LocatedModel {
  /** own = the catalogue's local_path; folder = the models folder; cache = that of the hub's other programs. */
  readonly source: 'own' | 'folder' | 'cache';
  /** Absolute paths, in the order of the catalogue; the first is loaded. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** Where to look for models. */
export interface SearchPaths {
  readonly folder: string;
  readonly cache: string;
  readonly manifest: DownloadManifest;
}

/** Finds the files of a model, all of them in one place: the user's own, downloaded ones, those of the hub's cache. */
export async function locateModel(
  source: ModelSource,
  { folder, cache, manifest }: SearchPaths,
): Promise<LocatedModel | undefined> {
  const own = await allPresent('own', localFiles(source));
  if (own) return own;
  const targets = targetsOrEmpty(source, folder);
  const records = targets.length === 0 ? new Map<string, FileRecord>() : await manifest.read();
  const whole = await Promise.all(targets.map((target) => isComplete(target, records.get(target.key))));
  const ours = whole.every((actual) => actual)
    ? await allPresent(
        'folder',
        targets.map(({ path }) => path),
      )
    : undefined;
  if (ours) return ours;
  const cached = await Promise.all(targets.map((target) => findInHubCache(cache, target)));
  const files = cached.filter((path) => path !== undefined);
  if (files.length < targets.length) return undefined;
  const found = await allPresent('cache', files);
  const { bytes } = (targets.length === 1 && targets[0]?.expected) || {};
  return bytes === undefined || found?.bytes === bytes ? found : undefined;
}

/** The files that could be downloaded; none where the entry cannot be. */
export function targetsOrEmpty(source: ModelSource, folder: string): readonly Target[] {
  try {
    return targetsOf(source, folder);
  } catch {
    return [];
  }
}

/** Whether a file in the models folder is the one that the catalogue and its record mean. */
export async function isComplete({ path, expected }: Target, record: FileRecord | undefined): Promise<boolean> {
  const bytes = await fileSize(path);
  if (bytes === undefined || bytes !== (record?.bytes ?? bytes) || bytes !== (expected.bytes ?? bytes)) return false;
  return !record?.sha256 || record.sha256 === (expected.sha256 ?? record.sha256);
}

async function allPresent(place: LocatedModel['source'], files: readonly string[]): Promise<LocatedModel | undefined> {
  const sizes = await Promise.all(files.map(fileSize));
  const there = sizes.filter((bytes) => bytes !== undefined);
  if (files.length === 0 || there.length < files.length) return undefined;
  return { source: place, files, bytes: there.reduce((sum, bytes) => sum + bytes, 0) };
}
