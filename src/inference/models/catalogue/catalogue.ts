import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { bundledPath } from '../../../base/packageFiles.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ModelPurpose } from '../../contract/model.ts';
import { modelSchema } from './modelSchema.ts';
import { defaultSampling, samplingSchema } from '../../contract/samplingParams.ts';
import { Fault } from '../../../protocol/fault.ts';
import { readRegularFile, readTextFile, resolveWithHome } from '../../../base/filesystem.ts';
import { findDuplicateKeys, locateInJson, readJson, withoutMark } from '../../../base/jsonLocations.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import { createReader, errorsBelow, type FromSchema, type SchemaError } from '../../../protocol/schema.ts';
import { array, boolean, closedObject, string } from '../../../protocol/schemaBuilders.ts';
import type { LocatedModel } from '../../download/locate.ts';
import { findMissingFile, localFiles } from '../../download/target.ts';
import { parseEntry } from './parseEntry.ts';

/** JSON Schema of models.json as a whole. Its models are validated one by one, with `modelSchema`. */
export const catalogueSchema = closedObject(['models'], {
  $schema: string('Where editors find the schema; absent = nowhere.'),
  extends: boolean(
    { default: true },
    'Whether the bundled models are in the catalogue, too; false = only the models of this file.',
  ),
  models: array({ items: {} }, 'The models that graphs and clients can name.'),
});

/** One model of the catalogue. It keeps only the variants that an engine can run; the first one is used. */
export interface CatalogueEntry extends FromSchema<typeof modelSchema> {
  /** Absolute path of the file to load, if its variant has a `local_path`; undefined: the files are downloaded. */
  readonly file: string | undefined;
  /** Absolute paths of its LoRA adapters, in their order, if its variant has any; undefined: that one is downloaded. */
  readonly loraFiles?: readonly (string | undefined)[] | undefined;
  /** Absolute path of its chat template, if its variant names one. */
  readonly templateFile?: string | undefined;
}

/** Model catalogue: the models of one models.json, by name. */
export interface Catalogue {
  readonly models: ReadonlyMap<string, CatalogueEntry>;
  /** One sentence for each error in an entry, with file, line and JSON pointer. Entries with errors are not in `models`. */
  readonly problems: readonly string[];
  /** Entries that are not in `models`: their problems, by name; those of entries without a name under "". */
  readonly rejected: ReadonlyMap<string, string>;
}

const validateCatalogue = createReader(catalogueSchema);

/**
 * Reads a catalogue file, and adds the bundled models unless it has `"extends": false`: an entry of the file replaces the
 * bundled one of its name, also when it has errors. The `local_path` of a bundled entry becomes absolute.
 * @throws Fault UNKNOWN_MODEL when a file as a whole cannot be read, with the place of each error.
 */
export async function readCatalogue(path: string, bundled = bundledPath('models.json')): Promise<Catalogue> {
  const { extends: isExtended, ...own } = await readCatalogueFile(path);
  // An application may ship without the bundled catalogue.
  if (!isExtended || !existsSync(bundled) || realpathSync(path) === realpathSync(bundled)) return own;
  const base = await readCatalogueFile(bundled);
  const isReplaced = (name: string): boolean => own.models.has(name) || own.rejected.has(name);
  const added = [...base.models].filter(([name]) => !isReplaced(name));
  return {
    models: new Map([
      ...own.models,
      ...added.map(([name, entry]) => [name, withAbsolutePaths(entry, bundled)] as const),
    ]),
    problems: [...own.problems, ...base.problems],
    rejected: new Map([...[...base.rejected].filter(([name]) => !isReplaced(name)), ...own.rejected]),
  };
}

function withAbsolutePaths(entry: CatalogueEntry, catalogue: string): CatalogueEntry {
  const variants = entry.variants.map(({ local_path: path, ...variant }) =>
    path === undefined ? variant : { ...variant, local_path: resolveWithHome(dirname(catalogue), path) },
  );
  return { ...entry, variants };
}

/** Reads one catalogue file. @throws Fault UNKNOWN_MODEL when it cannot be read as a whole, with the place of each error. */
async function readCatalogueFile(path: string): Promise<ReturnType<typeof parseCatalogue>> {
  const text = await readTextFile(path, readRegularFile).catch(({ message, cause }: Error) => {
    const hint =
      'name another with --catalogue; without that option, and without a models.json here, the bundled one is used';
    throw new Fault('UNKNOWN_MODEL', `the model catalogue ${message}; ${hint}`, { cause });
  });
  return parseCatalogue(text, path);
}

/**
 * Parses the text of a catalogue file.
 * @param textWithBom may begin with a byte order mark, as some Windows editors write it.
 * @param path names the file in messages; local files are relative to its folder.
 * @returns its content; `extends`: whether the bundled models are to be added.
 * @throws Fault UNKNOWN_MODEL as `readCatalogue`.
 */
export function parseCatalogue(textWithBom: string, path: string): Catalogue & { readonly extends: boolean } {
  const text = withoutMark(textWithBom);
  const { value: document, error } = readJson(text);
  if (error) throw new Fault('UNKNOWN_MODEL', `${path}:${error.place}: the catalogue is not valid JSON: ${error.why}`);
  const locations = locateInJson(text);
  const describeSchemaError = ({ pointer, message }: SchemaError): string =>
    `${path}:${locations.positionOf(pointer)}: ${pointer || 'the catalogue'} ${message}`;
  const duplicateKeys = findDuplicateKeys(text).map(({ name, pointer, place }) => ({
    pointer,
    sentence: `${path}:${place}: ${pointer} is a duplicate key: an object can have "${name}" only once`,
  }));
  const content = readContent(document, duplicateKeys, describeSchemaError);

  const models = new Map<string, CatalogueEntry>();
  const problems: string[] = [];
  const rejected = new Map<string, string>();
  const pointerOfName = new Map<string, string>();
  content.models.forEach((value, index) => {
    const entryPointer = `/models${escapePointerToken(index)}`;
    const entryDuplicates = duplicateKeys.filter(({ pointer }) => pointer.startsWith(`${entryPointer}/`));
    const { model, errors } = parseEntry(value);
    const entryProblems = [
      ...entryDuplicates.map(({ sentence }) => sentence),
      ...errorsBelow(entryPointer, errors).map(describeSchemaError),
    ];
    problems.push(...entryProblems);
    if (!model || entryDuplicates.length > 0) {
      const name = nameOf(value);
      rejected.set(name, [...(rejected.has(name) ? [rejected.get(name)] : []), ...entryProblems].join('; '));
      return;
    }
    const first = pointerOfName.get(model.name);
    if (first !== undefined)
      return void problems.push(
        describeSchemaError({
          pointer: `${entryPointer}/name`,
          message: `is a duplicate: "${model.name}"; the entry at ${locations.positionOf(first)} is used`,
        }),
      );
    pointerOfName.set(model.name, `${entryPointer}/name`);
    models.set(model.name, { ...model, ...ownPaths(model, dirname(path)) });
  });
  for (const name of models.keys()) rejected.delete(name);
  return { models, problems, rejected, extends: content.extends };
}

/** The file as a whole, without its entries. @throws Fault UNKNOWN_MODEL with its errors, and with its duplicate keys. */
function readContent(
  value: unknown,
  duplicateKeys: readonly { readonly pointer: string; readonly sentence: string }[],
  describe: (error: SchemaError) => string,
): FromSchema<typeof catalogueSchema> {
  const reading = validateCatalogue(value);
  const duplicates = duplicateKeys
    .filter(({ pointer }) => !/^\/models\/\d+\//.test(pointer))
    .map(({ sentence }) => sentence);
  if (!reading.ok) throw new Fault('UNKNOWN_MODEL', [...duplicates, ...reading.errors.map(describe)].join('; '));
  if (duplicates.length > 0) throw new Fault('UNKNOWN_MODEL', duplicates.join('; '));
  return reading.value;
}

const nameOf = (entry: unknown): string => (isObject(entry) && typeof entry['name'] === 'string' ? entry['name'] : '');

function ownPaths(
  { variants: [variant] }: FromSchema<typeof modelSchema>,
  folder: string,
): Pick<CatalogueEntry, 'file' | 'loraFiles' | 'templateFile'> {
  const { local_path: ownFolder, files: [first] = [], lora, chat_template: template } = variant ?? {};
  const absolute = (path: string | undefined) => (path === undefined ? undefined : resolveWithHome(folder, path));
  return {
    file:
      ownFolder === undefined || first === undefined ? undefined : resolve(resolveWithHome(folder, ownFolder), first),
    loraFiles: lora?.map(({ file }) => absolute(file)),
    templateFile: absolute(template),
  };
}

/** The files of a model on disk. */
export type ModelFiles = Pick<LocatedModel, 'files' | 'loras'>;

/** Finds the files of a model without looking at downloads: those of the entry's own; undefined: one does not exist. */
export async function findOwnFiles({ file, loraFiles = [] }: CatalogueEntry): Promise<ModelFiles | undefined> {
  const paths = [file, ...loraFiles];
  const [found, ...loras] = paths.flatMap((path) => (path !== undefined && existsSync(path) ? [path] : []));
  return found === undefined || loras.length < loraFiles.length ? undefined : { files: [found], loras };
}

/** Whether a file of a model can be downloaded. */
export const isDownloadable = ({ variants: [variant] }: Pick<CatalogueEntry, 'variants'>): boolean =>
  variant?.huggingface_repo !== undefined || (variant?.lora ?? []).some(({ url }) => url !== undefined);

const autoDownloadHint = ', or createAgent does where allowAutoModelDownloading is set';

/** The message of `fileMissingFault` for a caller without the requests of the WebSocket protocol. */
export const withoutDownloadRequests = (message: string): string =>
  message.replace(autoDownloadHint, '').replace('; downloadModel or turngraph', '; turngraph');

/** MODEL_NOT_ON_DISK for a model whose files are not on disk, with how to get them. */
export function fileMissingFault(entry: CatalogueEntry): Fault {
  const { name } = entry;
  const files = localFiles(entry);
  const missing = findMissingFile(files);
  const lora = entry.loraFiles?.find((path) => path !== undefined && !existsSync(path));
  const problem = missing ?? (lora === undefined ? undefined : `there is no file ${lora}`);
  const place = problem === undefined ? '' : `: ${problem}`;
  const hint =
    problem !== missing
      ? ', which is a LoRA of its entry in the catalogue'
      : isDownloadable(entry)
        ? `; downloadModel or turngraph models download "${name}" gets it${autoDownloadHint}`
        : files.length > 1 && missing !== undefined
          ? ''
          : ', and its entry in the catalogue has no huggingface_repo to download it from';
  return new Fault('MODEL_NOT_ON_DISK', `"${name}" is not on disk${place}${hint}`);
}

/** A model by its name, or by the same letters and digits with other characters between: `qwen3-0.6b-q8_0`. */
export function findModel({ models, rejected }: Catalogue, name: string): CatalogueEntry | undefined {
  const alike = [...models.values()].filter((entry) => lettersOf(entry.name) === lettersOf(name));
  return models.get(name) ?? (alike.length === 1 && !rejected.has(name) ? alike[0] : undefined);
}

const lettersOf = (name: string): string => (name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ');

/**
 * Error message for a model name that the catalogue does not have: why its entry cannot be used, or the nearest name, or
 * where to look.
 * @param detail what else was searched in vain, such as `, and there is no such file`.
 */
export function unknownModel(name: string, { models, rejected }: Catalogue, detail = ''): string {
  const problems = name === '' ? undefined : rejected.get(name);
  if (problems !== undefined) return `the catalogue has an entry "${name}", but it cannot be used: ${problems}`;
  const unnamed = rejected.get('');
  const hint =
    didYouMean(name, [...models.keys(), ...rejected.keys()].filter(Boolean)) ||
    (unnamed === undefined
      ? '; turngraph models list shows what there is'
      : `; an entry without a name is left out: ${unnamed}`);
  return `the catalogue has no model "${name}"${detail}${hint}`;
}

const purposeDescriptions: Readonly<Record<ModelPurpose, string>> = {
  chat: 'a chat model, which computes no vectors; name an embedding model',
  embedding: 'an embedding model, which generates no text; name a chat model',
};
const maxNamedModels = 3;

/** Why a model cannot be used for a purpose, and which can; undefined: it can be. */
export function purposeProblem(
  { name, purpose }: CatalogueEntry,
  wanted: ModelPurpose,
  { models }: Pick<Catalogue, 'models'>,
): string | undefined {
  if (purpose === wanted) return undefined;
  const fitting = [...models.values()].filter((entry) => entry.purpose === wanted).map((entry) => `"${entry.name}"`);
  const such = fitting.length > 0 ? ` such as ${fitting.slice(0, maxNamedModels).join(', ')}` : ' of models.json';
  return `"${name}" is ${purposeDescriptions[purpose]}${such}`;
}

/** Builds models.schema.json: the JSON Schema (draft-07) with which editors complete and check models.json. */
export const modelsSchema = (): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'turngraph model catalogue',
  ...catalogueSchema,
  properties: {
    ...catalogueSchema.properties,
    models: { ...catalogueSchema.properties.models, items: { $ref: '#/definitions/model' } },
  },
  definitions: {
    model: {
      ...modelSchema,
      properties: {
        ...modelSchema.properties,
        default_sampling: { ...samplingSchema, properties: samplingWithDefaults() },
      },
    },
  },
});

// For editors only. `samplingSchema` itself has no defaults: absent values are filled in from the model and the node first.
const samplingWithDefaults = (): object =>
  Object.fromEntries(
    Object.entries(samplingSchema.properties).map(([name, schema]) => [
      name,
      { ...schema, default: defaultSampling[name as keyof typeof defaultSampling] },
    ]),
  );
