import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ServerOptions } from '../server/config.ts';
import { Fault } from '../protocol/fault.ts';
import { type CatalogueEntry, readCatalogue } from '../inference/models/catalogue/catalogue.ts';
import { createFileEntry, isGgufPath } from '../inference/models/catalogue/fileEntry.ts';
import { UsageError } from './options.ts';

/** Checks a `--model` that is used with `--url`. @throws UsageError when it is a file. */
export function assertModelName(model: string): void {
  if (isGgufPath(model))
    throw new UsageError(
      `--model ${model} cannot be used with --url: that server uses the models of its own catalogue; leave out --url, or give a name`,
    );
}

/**
 * The entry of a `--model` that is a GGUF file; undefined when it is a name in the catalogue.
 * @throws Fault MODEL_NOT_ON_DISK when there is no such file.
 */
export async function findModelFile(model: string, options: ServerOptions): Promise<CatalogueEntry | undefined> {
  const isFile = statSync(model, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile && !isGgufPath(model)) return undefined;
  const { models } = await readCatalogue(options.catalogue);
  if (models.has(model)) return undefined;
  if (!isFile) throw new Fault('MODEL_NOT_ON_DISK', `there is no file ${resolve(model)}`);
  return createFileEntry(model, models, dirname(options.catalogue));
}
