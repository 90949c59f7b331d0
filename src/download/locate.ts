import { fileSize, hasModelMagic } from './disk/modelFile.ts';
import { findInHubCache } from './hub/localCache.ts';
import type { FileRecord, DownloadManifest } from './disk/manifest.ts';
import { localFiles, targetsOrEmpty, type Target, type ModelSource } from './target.ts';

/** The files of a model on disk. */
export interface LocatedModel {
  /** own = the catalogue's `local_path`; folder = the models folder; cache = the Hugging Face cache. */
  readonly source: 'own' | 'folder' | 'cache';
  /** Absolute paths, in the order of the catalogue; the first one is loaded. */
  readonly files: readonly string[];
  /** Size of all files. */
  readonly bytes: number;
}

/** Where models are searched. */
export interface SearchPaths {
  /** The models folder. */
  readonly folder: string;
  /** The Hugging Face cache, which other programs fill. */
  readonly cache: string;
  readonly manifest: DownloadManifest;
}

/** Finds a model whose files are all in one place: `local_path`, then the models folder, then the Hugging Face cache. */
export async function locateModel(
  source: ModelSource,
  { folder, cache, manifest }: SearchPaths,
): Promise<LocatedModel | undefined> {
  const own = await findAll('own', localFiles(source));
  if (own) return own;
  const targets = targetsOrEmpty(source, folder);
  const records = targets.length === 0 ? new Map<string, FileRecord>() : await manifest.read();
  const complete = await Promise.all(targets.map((target) => isComplete(target, records.get(target.key))));
  const downloaded = complete.every((isFileComplete) => isFileComplete)
    ? await findAll(
        'folder',
        targets.map(({ path }) => path),
      )
    : undefined;
  if (downloaded) return downloaded;
  const cachedFiles = (await Promise.all(targets.map((target) => findInHubCache(cache, target)))).filter(
    (path) => path !== undefined,
  );
  const areModels = await Promise.all(cachedFiles.map(hasModelMagic));
  if (cachedFiles.length < targets.length || areModels.includes(false)) return undefined;
  const cached = await findAll('cache', cachedFiles);
  const expectedBytes = targets.length === 1 ? targets[0]?.expected.bytes : undefined;
  return expectedBytes === undefined || cached?.bytes === expectedBytes ? cached : undefined;
}

/** Whether a file of the models folder is complete: a model, as large as its record and the catalogue say, and of the expected hash. */
export async function isComplete({ path, expected }: Target, record: FileRecord | undefined): Promise<boolean> {
  const bytes = await fileSize(path);
  if (bytes === undefined || bytes !== (record?.bytes ?? bytes) || bytes !== (expected.bytes ?? bytes)) return false;
  if (!(await hasModelMagic(path))) return false;
  return !record?.sha256 || record.sha256 === (expected.sha256 ?? record.sha256);
}

async function findAll(source: LocatedModel['source'], files: readonly string[]): Promise<LocatedModel | undefined> {
  const sizes = (await Promise.all(files.map(fileSize))).filter((bytes) => bytes !== undefined);
  if (files.length === 0 || sizes.length < files.length) return undefined;
  return { source, files, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}
