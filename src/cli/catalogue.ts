import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ServerOptions } from '../server/config.ts';
import { Downloads } from '../inference/download/downloads.ts';
import { assertFolder } from '../base/filesystem.ts';
import type { Catalogue, CatalogueEntry } from '../inference/models/catalogue/catalogue.ts';
import { findModel, readCatalogue, unknownModel } from '../inference/models/catalogue/catalogue.ts';
import { serverOptions, UsageError, type ServerFlags } from './options.ts';
import { Fault } from '../protocol/fault.ts';
import { createFileEntry, isGgufPath } from '../inference/models/catalogue/fileEntry.ts';

/** Reads the catalogue that the flags name; prints its invalid entries to stderr. */
export async function openCatalogue(flags: ServerFlags) {
  const options = serverOptions(flags);
  await assertFolder('--models', options.models);
  const catalogue = await readCatalogue(options.catalogue);
  for (const problem of catalogue.problems) process.stderr.write(`${problem}\n`);
  return { options, catalogue, downloads: new Downloads(options.models) };
}

/** A model of the catalogue. @throws UsageError when it has none of that name. */
export function requireEntry(catalogue: Catalogue, name: string): CatalogueEntry {
  const entry = findModel(catalogue, name);
  if (entry) return entry;
  throw new UsageError(unknownModel(name, catalogue));
}

/** Reads the catalogue of the options; downloaded models get the path of their file, as those with a local file. */
export async function localCatalogue({ catalogue: path, models: folder }: ServerOptions): Promise<Catalogue> {
  await assertFolder('--models', folder);
  const { models, ...catalogue } = await readCatalogue(path);
  const downloads = new Downloads(folder);
  const withFiles = async (entry: CatalogueEntry): Promise<CatalogueEntry> => {
    const located = await downloads.locate(entry);
    return { ...entry, file: located?.files[0] ?? entry.file, loraFiles: located?.loras ?? entry.loraFiles };
  };
  const entries = [...models].map(async ([name, entry]) => [name, await withFiles(entry)] as const);
  return { ...catalogue, models: new Map(await Promise.all(entries)) };
}

/** Whether the catalogue has a model of this name whose file exists. */
export function isOnDisk({ models }: Catalogue, name: string): boolean {
  const file = models.get(name)?.file;
  return file !== undefined && existsSync(file);
}

/** Checks a `--model` that is used with `--url`. @throws UsageError when it is a file. */
export function assertModelName(model: string): void {
  if (isGgufPath(model))
    throw new UsageError(
      `--model ${model} cannot be used with --url: that server uses the models of its own catalogue; leave out --url, or give a name`,
    );
}

/** The entry of a `--model` that is a GGUF file; undefined: it is a name. @throws Fault MODEL_NOT_ON_DISK */
export async function findModelFile(model: string, options: ServerOptions): Promise<CatalogueEntry | undefined> {
  const isFile = statSync(model, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile && !isGgufPath(model)) return undefined;
  const { models } = await readCatalogue(options.catalogue);
  if (models.has(model)) return undefined;
  if (!isFile) throw new Fault('MODEL_NOT_ON_DISK', `there is no file ${resolve(model)}`);
  return createFileEntry(model, models, dirname(options.catalogue));
}
