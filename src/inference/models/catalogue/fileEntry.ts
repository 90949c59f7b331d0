import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { splitFileNames, splitSuffixPattern } from '../../contract/model.ts';
import { createReader } from '../../../protocol/schema.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { modelSchema } from './modelSchema.ts';

/** Whether a model is meant as a file: a name that ends in .gguf. */
export const isGgufPath = (nameOrPath: string): boolean => /\.gguf$/i.test(nameOrPath);

/**
 * A catalogue entry for a GGUF file that has none; a split one has all its parts, the first of which is loaded.
 * @param file absolute or relative to the working directory.
 * @param models entries whose names are taken: a number is appended to the name of the file.
 * @param folder of the catalogue that the entry is for.
 */
export function createFileEntry(
  file: string,
  models: ReadonlyMap<string, unknown>,
  folder: string,
  more: Pick<Partial<CatalogueEntry>, 'default_sampling'> = {},
): CatalogueEntry {
  const path = resolve(file);
  const files = splitFileNames(basename(path));
  const variant = { engine: 'llama-cpp', local_path: localPath(dirname(path), folder), files };
  const reading = createReader(modelSchema)({
    ...more,
    name: unusedName(modelName(path), models),
    variants: [variant],
  });
  if (!reading.ok) throw new TypeError(`an entry for ${path} does not fit models.json`);
  return { ...reading.value, file: join(dirname(path), files[0] ?? basename(path)) };
}

/** A folder as `local_path`: relative to the catalogue if it is inside its folder, so that both can be moved; else absolute. */
export function localPath(folder: string, catalogueFolder: string): string {
  const path = relative(resolve(catalogueFolder), folder);
  if (path === '') return '.';
  return path.startsWith('..') || isAbsolute(path) ? folder : path.split(sep).join('/');
}

const modelName = (file: string): string =>
  basename(file)
    .replace(splitSuffixPattern, '')
    .replace(/\.gguf$/i, '') || 'model';

function unusedName(name: string, models: ReadonlyMap<string, unknown>): string {
  let unused = name;
  for (let count = 2; models.has(unused); count++) unused = `${name} ${count}`;
  return unused;
}
