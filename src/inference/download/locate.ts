import { fileSize, hasModelMagic } from './disk/modelFile.ts';
import { findInHubCache } from './hub/localCache.ts';
import type { FileRecord } from './disk/manifest.ts';
import { isComplete, type SearchPaths } from './isComplete.ts';
import { locateLoras } from './lora.ts';
import { localFiles, targetsOrEmpty, type ModelSource } from './target.ts';

/** The files of a model on disk. */
export interface LocatedModel {
  /** own = the catalogue's `local_path`; folder = the models folder; cache = the Hugging Face cache. */
  readonly source: 'own' | 'folder' | 'cache';
  /** Absolute paths, in the order of the catalogue; the first one is loaded. */
  readonly files: readonly string[];
  /** Absolute paths of its LoRA adapters, in the order of the catalogue, wherever each is. */
  readonly loras: readonly string[];
  /** Size of all files. */
  readonly bytes: number;
}

/**
 * Finds a model whose files are all in one place: `local_path`, then the models folder, then the Hugging Face cache; and its LoRA
 * adapters.
 */
export async function locateModel(source: ModelSource, paths: SearchPaths): Promise<LocatedModel | undefined> {
  const model = await locateFiles(source, paths);
  if (!model || !source.variants[0]?.lora) return model && { ...model, loras: [] };
  const located = await locateLoras(source, paths);
  const loras = located.flatMap(({ path }) => path ?? []);
  if (loras.length < located.length) return undefined;
  return { ...model, loras, bytes: located.reduce((sum, { bytes }) => sum + bytes, model.bytes) };
}

/** The files of a model itself. */
export async function locateFiles(
  source: ModelSource,
  { folder, cache, manifest }: SearchPaths,
): Promise<Omit<LocatedModel, 'loras'> | undefined> {
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

async function findAll(
  source: LocatedModel['source'],
  files: readonly string[],
): Promise<Omit<LocatedModel, 'loras'> | undefined> {
  const sizes = (await Promise.all(files.map(fileSize))).filter((bytes) => bytes !== undefined);
  if (files.length === 0 || sizes.length < files.length) return undefined;
  return { source, files, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}
