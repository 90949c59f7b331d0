import { stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { splitSuffixPattern, splitFileNames } from '../../engine/splitFiles.ts';
import { Fault } from '../../fault.ts';
import { createReader } from '../../schema.ts';
import { modelSchema, type Catalogue, type CatalogueEntry } from '../catalogue/catalogue.ts';
import { defaultSampling } from '../catalogue/sampling.ts';

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

/**
 * Finds a model by its name in the catalogue, or by the path of its file.
 * @param folder the folder of the catalogue.
 * @returns undefined if neither exists.
 * @throws Fault MODEL_NOT_ON_DISK for something that is clearly a path, when there is no such file.
 */
export async function findTarget(
  nameOrPath: string,
  catalogue: Catalogue,
  folder: string,
): Promise<DoctorTarget | undefined> {
  const entry = catalogue.models.get(nameOrPath);
  if (entry) return { entry, isListed: true, files: filePaths(entry), existingName: undefined };
  const exists = await stat(nameOrPath).then(
    () => true,
    () => false,
  );
  if (exists) return createFileTarget(resolve(nameOrPath), catalogue, resolve(folder));
  // With a separator or .gguf it was meant as a path, so the error is about a file.
  if (/[/\\]|\.gguf$/i.test(nameOrPath))
    throw new Fault('MODEL_NOT_ON_DISK', `there is no file ${resolve(nameOrPath)}`);
  return undefined;
}

function createFileTarget(file: string, { models }: Catalogue, folder: string): DoctorTarget {
  const files = splitFileNames(basename(file));
  const draft = {
    name: unusedName(modelName(file), models),
    default_sampling: draftSampling,
    variants: [{ engine: 'llama-cpp', local_path: localPath(dirname(file), folder), files }],
  };
  const reading = createReader(modelSchema)(draft);
  if (!reading.ok) throw new TypeError(`an entry for ${file} does not fit models.json`);
  const entry = { ...reading.value, file };
  return {
    entry,
    isListed: false,
    files: filePaths(entry),
    existingName: [...models.values()].find((model) => model.file === file)?.name,
  };
}

// Parameters that users change most often, written out with the server's defaults.
const { temperature, top_p, top_k, min_p, repeat_penalty } = defaultSampling;
const draftSampling = { temperature, top_p, top_k, min_p, repeat_penalty };

const filePaths = ({ file, variants }: CatalogueEntry): readonly string[] =>
  file === undefined ? [] : (variants[0]?.files ?? []).map((name) => join(dirname(file), basename(name)));

const modelName = (file: string): string =>
  basename(file)
    .replace(splitSuffixPattern, '')
    .replace(/\.gguf$/i, '') || 'model';

function unusedName(name: string, models: Catalogue['models']): string {
  let unused = name;
  for (let count = 2; models.has(unused); count++) unused = `${name} ${count}`;
  return unused;
}

// Relative to the catalogue if it is in that folder, so that both can be moved together; otherwise absolute.
function localPath(folder: string, catalogue: string): string {
  const path = relative(catalogue, folder);
  if (path === '') return '.';
  return path.startsWith('..') || isAbsolute(path) ? folder : path.split(sep).join('/');
}
