import { stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { splitSuffix, splitFileNames } from '../../engine/splitFiles.ts';
import { Fault } from '../../fault.ts';
import { createReader } from '../../schema.ts';
import { modelSchema, type Catalogue, type CatalogueEntry } from '../catalogue/catalogue.ts';
import { defaultSampling } from '../catalogue/sampling.ts';

/** What is looked at: a model of the catalogue, or a file that may become one. */
export interface DoctorTarget {
  readonly entry: CatalogueEntry;
  /** Whether the catalogue has it. */
  readonly isListed: boolean;
  /** Paths of the files. */
  readonly files: readonly string[];
  /** What the catalogue calls a file that it has already. */
  readonly existingName: string | undefined;
}

/** Finds what a name or path means; undefined: neither the catalogue nor the disk has it. @throws Fault MODEL_NOT_ON_DISK for a path that leads nowhere. */
export async function findTarget(
  given: string,
  catalogue: Catalogue,
  folder: string,
): Promise<DoctorTarget | undefined> {
  const entry = catalogue.models.get(given);
  if (entry) return { entry, isListed: true, files: filePaths(entry), existingName: undefined };
  const isThere = await stat(given).then(
    () => true,
    () => false,
  );
  if (isThere) return createFileTarget(resolve(given), catalogue, resolve(folder));
  // Who writes a path means a file, and hears it when there is none.
  if (/[/\\]|\.gguf$/i.test(given)) throw new Fault('MODEL_NOT_ON_DISK', `there is no file ${resolve(given)}`);
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
    existingName: [...models.values()].find((one) => one.file === file)?.name,
  };
}

// What a person may want to change first.
const { temperature, top_p, top_k, min_p, repeat_penalty } = defaultSampling;
const draftSampling = { temperature, top_p, top_k, min_p, repeat_penalty };

const filePaths = ({ file, variants }: CatalogueEntry): readonly string[] =>
  file === undefined ? [] : (variants[0]?.files ?? []).map((name) => join(dirname(file), basename(name)));

const modelName = (file: string): string =>
  basename(file)
    .replace(splitSuffix, '')
    .replace(/\.gguf$/i, '') || 'model';

function unusedName(name: string, models: Catalogue['models']): string {
  let free = name;
  for (let count = 2; models.has(free); count++) free = `${name} ${count}`;
  return free;
}

// A path from the catalogue on goes wherever the folder goes; what lies elsewhere needs the whole one.
function localPath(folder: string, catalogue: string): string {
  const path = relative(catalogue, folder);
  if (path === '') return '.';
  return path.startsWith('..') || isAbsolute(path) ? folder : path.split(sep).join('/');
}
