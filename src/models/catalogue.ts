import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Fault } from '../fault.ts';
import { reader, type FromSchema, type ObjectSchema } from '../schema.ts';
import { samplingSchema } from './sampling.ts';

const variantSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['engine', 'files'],
  properties: {
    engine: { type: 'string', enum: ['llama-cpp'], description: 'What runs it.' },
    local_path: { type: 'string', description: 'Folder of the files, relative to the catalogue.' },
    huggingface_repo: { type: 'string', description: 'Where the files can be downloaded: OWNER/NAME.' },
    revision: { type: 'string', default: 'main', description: 'Branch, tag or commit of the repository.' },
    files: { type: 'array', minItems: 1, items: { type: 'string' }, description: 'File names; the first one is loaded.' },
    context_size: {
      type: 'integer',
      minimum: 0,
      default: 0,
      description: 'Tokens; 0 = 8192 or what the model was trained with, the smaller.',
    },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Hash of the file, where it is a single one.' },
    size_bytes: { type: 'integer', minimum: 1, description: 'Size of all files.' },
    license: { type: 'string', default: '', description: 'License of the weights.' },
  },
} as const satisfies ObjectSchema;

/** The shape of one model in models.json. */
export const modelSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'variants'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'Unique; used everywhere.' },
    description: { type: 'string', default: '', description: 'What it is good for.' },
    tool_call_format: {
      type: 'string',
      default: '',
      description: 'How the model was trained to call tools; "" = read off the model.',
    },
    default_sampling: samplingSchema,
    variants: { type: 'array', minItems: 1, items: variantSchema, description: 'Files of the model; the first that an engine can run is used.' },
  },
} as const satisfies ObjectSchema;

const catalogueSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['models'],
  properties: {
    $schema: { type: 'string' },
    models: { type: 'array', items: { type: 'object' } },
  },
} as const satisfies ObjectSchema;

/** One model that the catalogue offers. */
export interface CatalogueEntry extends FromSchema<typeof modelSchema> {
  /** Absolute path of the file to load, when its variant is local. */
  readonly file: string | undefined;
}

/** The models of one models.json. */
export interface Catalogue {
  readonly models: ReadonlyMap<string, CatalogueEntry>;
  /** A sentence for each entry that was refused; the others serve. */
  readonly problems: readonly string[];
}

const readCatalogueShape = reader(catalogueSchema);
const readModel = reader(modelSchema);

/** Reads a catalogue. @throws Fault UNKNOWN_MODEL when the file as a whole cannot be read. */
export async function readCatalogue(path: string): Promise<Catalogue> {
  const document = await parsed(path);
  const reading = readCatalogueShape(document);
  if (!reading.ok) throw new Fault('UNKNOWN_MODEL', reading.refusals.map(({ pointer, message }) => `${path}: ${pointer} ${message}`).join('; '));
  const models = new Map<string, CatalogueEntry>();
  const problems: string[] = [];
  reading.value.models.forEach((value, index) => {
    const model = readModel(value);
    const at = `${path}: /models/${index}`;
    if (!model.ok) problems.push(...model.refusals.map(({ pointer, message }) => `${at}${pointer} ${message}`));
    else if (models.has(model.value.name)) problems.push(`${at}/name stands twice: "${model.value.name}"`);
    else models.set(model.value.name, { ...model.value, file: localFile(model.value, dirname(path)) });
  });
  return { models, problems };
}

async function parsed(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Fault('UNKNOWN_MODEL', `the model catalogue ${path} cannot be read: ${reason}`, { cause: error });
  }
}

function localFile({ variants }: FromSchema<typeof modelSchema>, folder: string): string | undefined {
  const [variant] = variants;
  const [file] = variant?.files ?? [];
  return variant?.local_path === undefined || file === undefined ? undefined : resolve(folder, variant.local_path, file);
}
