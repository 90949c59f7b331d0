import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Fault } from '../../fault.ts';
import { findSyntaxError, locateInJson, findDuplicateKeys } from '../../jsonLocations.ts';
import { escapePointerToken } from '../../jsonPointer.ts';
import { createReader, type FromSchema, type ObjectSchema, type SchemaError } from '../../schema.ts';
import { parseEntry } from './parseEntry.ts';
import type { modelSchema } from './modelSchema.ts';

export { modelSchema } from './modelSchema.ts';

/** The shape of models.json; its models are checked one by one. */
export const catalogueSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['models'],
  properties: {
    $schema: { type: 'string', description: 'Where editors find the schema; absent = nowhere.' },
    models: { type: 'array', items: {}, description: 'The models that graphs and clients can name.' },
  },
} as const satisfies ObjectSchema;

/** One model that the catalogue offers. Its variants are those that an engine can run; the first one is used. */
export interface CatalogueEntry extends FromSchema<typeof modelSchema> {
  /** Absolute path of the file to load, when its variant is local. */
  readonly file: string | undefined;
}

/** The models of one models.json. */
export interface Catalogue {
  readonly models: ReadonlyMap<string, CatalogueEntry>;
  /** A sentence with its place for each fault in an entry: that entry is left out, the others serve. */
  readonly problems: readonly string[];
}

const readShape = createReader(catalogueSchema);

/** Reads a catalogue. @throws Fault UNKNOWN_MODEL when the file as a whole cannot be read, with each fault's place. */
export async function readCatalogue(path: string): Promise<Catalogue> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const why = { ENOENT: 'there is no such file', EISDIR: 'it is a folder' }[cause.code ?? ''] ?? cause.message;
    const mend =
      'name another with --catalogue; without that option, and without a models.json here, the shipped one serves';
    throw new Fault('UNKNOWN_MODEL', `the model catalogue ${path} cannot be read: ${why}; ${mend}`, { cause });
  });
  return parseCatalogue(text, path);
}

/** Reads the text of a catalogue; the folder of its path is where local files are. @throws Fault UNKNOWN_MODEL as `readCatalogue`. */
export function parseCatalogue(withMark: string, path: string): Catalogue {
  const text = withMark.replace(/^\uFEFF/, '');
  const broken = findSyntaxError(text);
  if (broken) throw new Fault('UNKNOWN_MODEL', `${path}:${broken.place}: the catalogue is no JSON: ${broken.why}`);
  const places = locateInJson(text);
  const tell = ({ pointer, message }: SchemaError): string =>
    `${path}:${places.positionOf(pointer)}: ${pointer || 'the catalogue'} ${message}`;
  const twice = findDuplicateKeys(text).map(({ name, pointer, place }) => ({
    pointer,
    sentence: `${path}:${place}: ${pointer} stands twice: an object can have "${name}" only once`,
  }));
  const shape = readShape(JSON.parse(text));
  const outside = twice.filter(({ pointer }) => !/^\/models\/\d+\//.test(pointer)).map(({ sentence }) => sentence);
  if (!shape.ok) throw new Fault('UNKNOWN_MODEL', [...outside, ...shape.errors.map(tell)].join('; '));
  if (outside.length > 0) throw new Fault('UNKNOWN_MODEL', outside.join('; '));

  const models = new Map<string, CatalogueEntry>();
  const problems: string[] = [];
  const placeOfName = new Map<string, string>();
  shape.value.models.forEach((value, index) => {
    const here = `/models${escapePointerToken(index)}`;
    const refuse = (refusal: SchemaError): void =>
      void problems.push(tell({ ...refusal, pointer: here + refusal.pointer }));
    const repeated = twice.filter(({ pointer }) => pointer.startsWith(`${here}/`));
    const { model, errors } = parseEntry(value);
    problems.push(...repeated.map(({ sentence }) => sentence));
    errors.forEach(refuse);
    if (!model || repeated.length > 0) return;
    const first = placeOfName.get(model.name);
    if (first !== undefined)
      return refuse({ pointer: '/name', message: `stands twice: "${model.name}"; the one at ${first} serves` });
    placeOfName.set(model.name, places.positionOf(`${here}/name`));
    models.set(model.name, { ...model, file: localFilePath(model, dirname(path)) });
  });
  return { models, problems };
}

function localFilePath({ variants }: FromSchema<typeof modelSchema>, folder: string): string | undefined {
  const [variant] = variants;
  const [file] = variant?.files ?? [];
  return variant?.local_path === undefined || file === undefined
    ? undefined
    : resolve(folder, variant.local_path, file);
}

/** The file of a model for who knows of no downloads: the user's own, if it is there. */
export const findLocalModelFile = async ({ file = '' }: CatalogueEntry): Promise<string | undefined> =>
  existsSync(file) ? file : undefined;

/** That the files of a model are nowhere, and how they can be had. */
export function fileMissingFault({ name, file, variants: [variant] }: CatalogueEntry): Fault {
  const where = file === undefined ? '' : `: there is no file ${file}`;
  const mend =
    variant?.huggingface_repo === undefined
      ? ', and its entry in the catalogue has no huggingface_repo to download it from'
      : `; downloadModel or turngraph models download "${name}" gets it, or createAgent does where allowAutoModelDownloading is set`;
  return new Fault('MODEL_NOT_ON_DISK', `"${name}" is not on disk${where}${mend}`);
}
