import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { resolveWithHome } from '../../base/filesystem.ts';
import { Fault } from '../../protocol/fault.ts';
import { type Catalogue, type CatalogueEntry, findModel } from '../../inference/models/catalogue/catalogue.ts';
import { createFileEntry, isGgufPath, localPath } from '../../inference/models/catalogue/fileEntry.ts';
import { samplingColumn } from '../../inference/contract/samplingParams.ts';

/** The model to diagnose: one of the catalogue, or a GGUF file that is not in it. */
export interface DoctorTarget {
  readonly entry: CatalogueEntry;
  /** Whether it was named by its name in the catalogue. */
  readonly isListed: boolean;
  /** Paths of the files; several if the model is split. */
  readonly files: readonly string[];
  /** For a file: the name of the catalogue entry that has the same file, if there is one. */
  readonly existingName: string | undefined;
}

/** Folders that paths are relative to: that of the catalogue, and that of the models.json which the printed entry is for. */
type TargetFolders = Readonly<Record<'catalogue' | 'entry', string>>;

/**
 * Finds a model by its name in the catalogue, or by the path of its file. The `local_path` of its entry is for the
 * models.json in `folders.entry`.
 * @returns undefined if neither exists.
 * @throws Fault MODEL_NOT_ON_DISK for something that is clearly a path, when there is no such file.
 */
export function findTarget(nameOrPath: string, catalogue: Catalogue, folders: TargetFolders): DoctorTarget | undefined {
  const entry = findModel(catalogue, nameOrPath);
  if (entry)
    return { entry: moveEntry(entry, folders), isListed: true, files: filePaths(entry), existingName: undefined };
  if (existsSync(nameOrPath)) return createFileTarget(resolve(nameOrPath), catalogue, folders.entry);
  // With a separator or .gguf it was meant as a path, so the error is about a file.
  if (/[/\\]/.test(nameOrPath) || isGgufPath(nameOrPath))
    throw new Fault('MODEL_NOT_ON_DISK', `there is no file ${resolve(nameOrPath)}`);
  return undefined;
}

function moveEntry(entry: CatalogueEntry, folders: TargetFolders): CatalogueEntry {
  const isSameFolder = resolve(folders.catalogue) === resolve(folders.entry);
  // A relative path is left as the user wrote it.
  const move = (path: string): string =>
    isSameFolder && !isAbsolute(path) ? path : localPath(resolveWithHome(folders.catalogue, path), folders.entry);
  const variants = entry.variants.map((variant) => {
    const { local_path: path, lora } = variant;
    return {
      ...variant,
      ...(path !== undefined && { local_path: move(path) }),
      ...(lora && { lora: lora.map((one) => (one.file === undefined ? one : { ...one, file: move(one.file) })) }),
    };
  });
  return { ...entry, variants };
}

function createFileTarget(file: string, { models }: Catalogue, folder: string): DoctorTarget {
  const entry = createFileEntry(file, models, folder, { default_sampling: draftSampling });
  return {
    entry,
    isListed: false,
    files: filePaths(entry),
    existingName: [...models.values()].find((model) => model.file === entry.file)?.name,
  };
}

// Parameters that users change most often, written out with the server's defaults.
const draftSampling = samplingColumn('default', 'drafted');

function filePaths({ file, loraFiles = [], variants }: CatalogueEntry): readonly string[] {
  if (file === undefined) return [];
  const weights = (variants[0]?.files ?? []).map((name) => join(dirname(file), basename(name)));
  return [...weights, ...loraFiles.filter((path) => path !== undefined)];
}
