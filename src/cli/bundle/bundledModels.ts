import { basename } from 'node:path';
import type { Catalogue, CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { findModel, unknownModel } from '../../inference/models/catalogue/catalogue.ts';
import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import type { Downloads } from '../../inference/download/downloads.ts';
import type { BundleFile } from './bundlePart.ts';
import { referencesOf } from '../../graph/compile/document.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import { findRecordsPath, maxFileBytes } from '../../graph/storage/knowledge/knowledgeFile.ts';
import { kindOfFile, readBytes } from '../../graph/storage/storageFile.ts';
import { openStorages, type CheckedGraph } from '../checkedGraphs.ts';

/** A graph that goes into a bundle. */
export type BundledGraph = Pick<CheckedGraph, 'path' | 'document' | 'storageRoot'>;

/** The graphs folder of a bundle: the graphs, and the storage files that they name. */
export async function graphFiles(graphs: readonly BundledGraph[]): Promise<readonly BundleFile[]> {
  const files: [path: string, source: string][] = [];
  for (const { path, document, storageRoot } of graphs) {
    files.push([basename(path), path]);
    const root = new StorageRoot(storageRoot);
    for (const name of referencesOf(document).storages) {
      const file = await root.find(name);
      // A name without a file is that of a storage that the client creates.
      if (file === undefined) continue;
      files.push([name.replaceAll('\\', '/'), file]);
      if (kindOfFile(name) !== 'KNOWLEDGE') continue;
      const recordsPath = (await findRecordsPath(name, await readBytes(file, name, maxFileBytes))) ?? '';
      const recordsFile = await root.find(recordsPath);
      if (recordsFile !== undefined) files.push([recordsPath.replaceAll('\\', '/'), recordsFile]);
    }
  }
  return filesWithoutConflict('graphs', files);
}

/** Files below a folder of a bundle. @throws Error when two of them have the same place. */
function filesWithoutConflict(
  folder: string,
  files: readonly (readonly [path: string, source: string])[],
): readonly BundleFile[] {
  const sources = new Map<string, string>();
  for (const [name, source] of files) {
    const path = `${folder}/${name}`;
    const other = sources.get(path);
    if (other !== undefined && other !== source)
      throw new Error(`${other} and ${source} would both be ${path} in the bundle: rename one of them`);
    sources.set(path, source);
  }
  return [...sources].map(([path, source]) => ({ path, content: { copyOf: source } }));
}

/** The embedding models that storage files of graphs name, and that their nodes search by. @throws Fault of a file. */
export async function storageModels(graphs: readonly BundledGraph[]): Promise<readonly string[]> {
  const models = new Set<string>();
  for (const { document, storageRoot } of graphs) {
    const root = new StorageRoot(storageRoot);
    const storages = openStorages(storageRoot);
    for (const name of referencesOf(document).withOwnModel) {
      // A name without a file is that of a storage that the client creates.
      if ((await root.find(name)) === undefined) continue;
      const { knowledge } = await storages.find(name);
      if (knowledge?.embeddingModel !== undefined) models.add(knowledge.embeddingModel);
    }
  }
  return [...models];
}

export interface BundledModel {
  readonly entry: CatalogueEntry;
  /** [] = only its entry is in the bundle. */
  readonly files: readonly BundleFile[];
}

const folder = 'models';
const loraFolder = `${folder}/lora`;

/** Finds the files of models. @throws Error that names the command that gets them, where a model is not on disk. */
export async function findModels(
  names: readonly string[],
  catalogue: Catalogue,
  downloads: Pick<Downloads, 'locate'>,
): Promise<readonly BundledModel[]> {
  const models: BundledModel[] = [];
  for (const name of names) {
    const entry = requireModel(name, catalogue);
    const [variant] = entry.variants;
    const located = await downloads.locate(entry);
    if (variant === undefined || !located) throw new Error(notOnDisk(entry));
    // As in the models folder: files of different repositories may have the same name.
    const place = variant.huggingface_repo === undefined ? folder : `${folder}/${variant.huggingface_repo}`;
    const loras = located.loras.map((file) => [basename(file), file] as const);
    const weights = variant.files.map((file, index) => [file, located.files[index] ?? ''] as const);
    const files = [...filesWithoutConflict(place, weights), ...filesWithoutConflict(loraFolder, loras)];
    const lora = variant.lora?.map((adapter, index) => {
      const { url: _, ...moved } = { ...adapter, file: `${loraFolder}/${loras[index]?.[0]}` };
      return moved;
    });
    models.push({ entry: { ...entry, variants: [{ ...variant, local_path: place, ...(lora && { lora }) }] }, files });
  }
  // Models may share files, and must not take each other's place.
  filesWithoutConflict(
    '.',
    models.flatMap(({ files }) => files.map(({ path, content }) => [path, 'copyOf' in content ? content.copyOf : ''])),
  );
  return models;
}

/** Models of which only the entry is in the bundle. @throws Error where one cannot be downloaded. */
export function findEntries(names: readonly string[], catalogue: Catalogue): readonly BundledModel[] {
  return names.map((name) => {
    const entry = requireModel(name, catalogue);
    const [variant] = entry.variants;
    if (variant?.huggingface_repo === undefined)
      throw new Error(`--entry ${name}: its entry has no huggingface_repo to download it from; use --model`);
    if (variant.lora?.some(({ file }) => file !== undefined))
      throw new Error(
        `--entry ${name}: it has a LoRA that is a file of your own, and cannot be downloaded; use --model`,
      );
    const { local_path: _, ...downloaded } = variant;
    return { entry: { ...entry, variants: [downloaded] }, files: [] };
  });
}

/** The text of the models.json of a bundle. */
export function writeCatalogue(models: readonly BundledModel[]): string {
  const entries = models.map(({ entry }) => ({ ...entry, file: undefined, loraFiles: undefined }));
  return `${JSON.stringify({ extends: false, models: entries }, withoutEmptyTexts, 2)}\n`;
}

const withoutEmptyTexts = (_: string, value: unknown): unknown => (value === '' ? undefined : value);

function requireModel(name: string, catalogue: Catalogue): CatalogueEntry {
  const entry = findModel(catalogue, name);
  if (entry && isRemote(entry))
    throw new Error(
      `the model "${name}" is served by other machines and has no files: write its entry into the bundle's models.json`,
    );
  if (entry) return entry;
  throw new Error(unknownModel(name, catalogue));
}

function notOnDisk({ name, file, variants: [variant] }: CatalogueEntry): string {
  if (variant?.huggingface_repo === undefined) return `the model "${name}" is not on disk: there is no file ${file}`;
  return (
    `the model "${name}" is not on disk: run turngraph models download "${name}" first, ` +
    `or give --entry "${name}", and the game downloads it`
  );
}
