import { existsSync } from 'node:fs';
import type { ServerOptions } from '../server/config.ts';
import { Downloads } from '../inference/download/downloads.ts';
import { assertFolder } from '../base/filesystem.ts';
import { type Catalogue, type CatalogueEntry, readCatalogue } from '../inference/models/catalogue/catalogue.ts';

/**
 * Reads the catalogue that the options name; entries of downloaded models get the path of their file, as entries with a
 * local file have it.
 */
export async function localCatalogue({ catalogue: path, models: folder }: ServerOptions): Promise<Catalogue> {
  await assertFolder('--models', folder);
  const { models, ...catalogue } = await readCatalogue(path);
  const downloads = new Downloads(folder);
  const withFiles = async (entry: CatalogueEntry): Promise<CatalogueEntry> => ({
    ...entry,
    file: (await downloads.findFile(entry)) ?? entry.file,
    loraFiles: (await downloads.findLoras(entry)) ?? entry.loraFiles,
  });
  const entries = [...models].map(async ([name, entry]) => [name, await withFiles(entry)] as const);
  return { ...catalogue, models: new Map(await Promise.all(entries)) };
}

/** Whether the catalogue has a model of this name whose file exists. */
export function isOnDisk({ models }: Catalogue, name: string): boolean {
  const file = models.get(name)?.file;
  return file !== undefined && existsSync(file);
}
