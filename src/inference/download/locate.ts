import { fileSize, hasModelMagic } from './disk/modelFile.ts';
import type { DownloadManifest } from './disk/manifest.ts';
import type { ExpectedFile, LoraSource, ModelSource, Target } from './target.ts';
import { expectedByCatalogue, hubUrlPattern, localFiles, targetIn, targetsOf, targetsOrEmpty } from './target.ts';
import { findInHubCache } from './hub/endpoint.ts';
import { decodePercent } from '../../base/jsonPointer.ts';
import { Fault } from '../../protocol/fault.ts';

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

/** Where all files of a model are: `local_path`, the models folder, or the Hugging Face cache; and its adapters. */
export async function locateModel(source: ModelSource, paths: SearchPaths): Promise<LocatedModel | undefined> {
  const model = await locateFiles(source, paths);
  if (!model || !source.variants[0]?.lora) return model && { ...model, loras: [] };
  const located = await locateLoras(source, paths);
  const loras = located.flatMap(({ path }) => path ?? []);
  if (loras.length < located.length) return undefined;
  return { ...model, loras, bytes: located.reduce((sum, { bytes }) => sum + bytes, model.bytes) };
}

export async function locateFiles(
  source: ModelSource,
  { folder, cache, manifest }: SearchPaths,
): Promise<Omit<LocatedModel, 'loras'> | undefined> {
  const own = await findAll('own', localFiles(source));
  if (own) return own;
  const targets = targetsOrEmpty(source, folder);
  const complete = await Promise.all(targets.map((target) => isDownloaded(target, manifest)));
  const paths = targets.map(({ path }) => path);
  const downloaded = complete.includes(false) ? undefined : await findAll('folder', paths);
  if (downloaded) return downloaded;
  const cached = await Promise.all(targets.map((target) => findCached(target, cache)));
  const cachedFiles = cached.filter((path) => path !== undefined);
  return cachedFiles.length < targets.length ? undefined : findAll('cache', cachedFiles);
}

/** The file of a target in the Hugging Face cache; undefined: it is not there, or another one. */
async function findCached(target: Target, cache: string): Promise<string | undefined> {
  const path = await findInHubCache(cache, target);
  if (path === undefined || !(await hasModelMagic(path))) return undefined;
  return (await fileSize(path)) === (target.expected.bytes ?? (await fileSize(path))) ? path : undefined;
}

async function findAll(
  source: LocatedModel['source'],
  files: readonly string[],
): Promise<Omit<LocatedModel, 'loras'> | undefined> {
  const sizes = (await Promise.all(files.map(fileSize))).filter((bytes) => bytes !== undefined);
  if (files.length === 0 || sizes.length < files.length) return undefined;
  return { source, files, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

export interface SearchPaths {
  /** The models folder. */
  readonly folder: string;
  /** The Hugging Face cache, which other programs fill. */
  readonly cache: string;
  readonly manifest: DownloadManifest;
}

/** Whether a file of the models folder is complete: a model, as large as its record and the catalogue say, and of the expected hash. */
export async function isDownloaded({ key, path, expected }: Target, manifest: DownloadManifest): Promise<boolean> {
  const record = (await manifest.read()).get(key);
  const bytes = await fileSize(path);
  if (bytes === undefined || bytes !== (record?.bytes ?? bytes) || bytes !== (expected.bytes ?? bytes)) return false;
  if (!(await hasModelMagic(path))) return false;
  return !record?.sha256 || record.sha256 === (expected.sha256 ?? record.sha256);
}

export interface LocatedLora {
  readonly expected: ExpectedFile;
  /** Where it is downloaded to; undefined: it is a file of the user's own. */
  readonly target: Target | undefined;
  /** Absolute path; undefined: it is not on disk. */
  readonly path: string | undefined;
  /** 0 = it is not on disk. */
  readonly bytes: number;
}

/** Finds the adapters of a model, in the order of the catalogue. */
export async function locateLoras(source: ModelSource, paths: SearchPaths): Promise<readonly LocatedLora[]> {
  const loras = source.variants[0]?.lora ?? [];
  return Promise.all(
    loras.map(async (lora, index) => {
      const target = targetOf(source, lora, paths.folder);
      const path = target ? await findTarget(target, paths) : source.loraFiles?.[index];
      const bytes = path === undefined ? undefined : await fileSize(path);
      const found = bytes === undefined ? { path: undefined, bytes: 0 } : { path, bytes };
      return { expected: expectedByCatalogue(lora), target, ...found };
    }),
  );
}

const findTarget = async (target: Target, { cache, manifest }: SearchPaths): Promise<string | undefined> =>
  (await isDownloaded(target, manifest)) ? target.path : findCached(target, cache);

const hubUrl = new RegExp(hubUrlPattern);

/** The adapter's place in a models folder; undefined: a user's file. @throws Fault DOWNLOAD_NOT_AVAILABLE */
function targetOf(source: ModelSource, lora: LoraSource, folder: string): Target | undefined {
  if (lora.url === undefined) return undefined;
  const [, repo = '', revision = '', file = ''] = hubUrl.exec(lora.url)?.map(decodePercent) ?? [];
  return targetIn(folder, source.name, { repo, revision, file, expected: expectedByCatalogue(lora) });
}

/** The files of a model, its LoRA adapters included, that could be downloaded. */
export function allTargets(source: ModelSource, folder: string): readonly Target[] {
  const model = targetsOrEmpty(source, folder);
  const loras = source.variants[0]?.lora ?? [];
  try {
    return [...model, ...loras.flatMap((lora) => targetOf(source, lora, folder) ?? [])];
  } catch {
    return model;
  }
}

/** What is to be downloaded: files and adapters that are not on disk. @throws Fault DOWNLOAD_NOT_AVAILABLE */
export async function missingTargets(source: ModelSource, paths: SearchPaths): Promise<readonly Target[]> {
  const model = (await locateFiles(source, paths)) ? [] : targetsOf(source, paths.folder);
  const loras = await locateLoras(source, paths);
  const own = loras.findIndex(({ path, target }) => path === undefined && target === undefined);
  if (own >= 0)
    throw new Fault(
      'DOWNLOAD_NOT_AVAILABLE',
      `"${source.name}" cannot be downloaded: there is no LoRA ${source.loraFiles?.[own]}, which is a file of your own`,
    );
  return [...model, ...loras.flatMap(({ path, target }) => (path === undefined && target ? [target] : []))];
}
