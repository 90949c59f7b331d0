import type { Command } from 'commander';
import type { ServerOptions } from '../server/config.ts';
import { Downloads } from '../inference/download/downloads.ts';
import { assertFolder } from '../base/filesystem.ts';
import {
  type Catalogue,
  type CatalogueEntry,
  readCatalogue,
  unknownModel,
} from '../inference/models/catalogue/catalogue.ts';
import { serverFlags, serverOptions, UsageError } from './options.ts';

/** A catalogue, and the downloads of its models. */
export interface OpenCatalogue {
  readonly options: ServerOptions;
  readonly catalogue: Catalogue;
  readonly downloads: Downloads;
}

/** Adds the flags of `openCatalogue` to a command. */
export const modelFlags = (command: Command): Command => serverFlags(command, ['catalogue', 'models', 'json']);

/** Reads the catalogue that the flags name; prints its invalid entries to stderr. */
export async function openCatalogue(flags: Readonly<Record<string, unknown>>): Promise<OpenCatalogue> {
  const options = serverOptions(flags);
  await assertFolder('--models', options.models);
  const catalogue = await readCatalogue(options.catalogue);
  for (const problem of catalogue.problems) process.stderr.write(`${problem}\n`);
  return { options, catalogue, downloads: new Downloads(options.models) };
}

/** A model of the catalogue. @throws UsageError when it has none of that name. */
export function requireEntry(catalogue: Catalogue, name: string): CatalogueEntry {
  const entry = catalogue.models.get(name);
  if (entry) return entry;
  throw new UsageError(unknownModel(name, catalogue));
}
