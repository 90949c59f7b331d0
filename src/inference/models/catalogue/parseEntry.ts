import { findPathProblem } from '../../../base/filesystem.ts';
import { memoizedByKey } from '../../../base/memoized.ts';
import { createReader, type FromSchema, type SchemaError } from '../../../protocol/schema.ts';
import { modelSchema, variantSchema } from './modelSchema.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import { engineErrors } from './remoteEntry.ts';

type Model = FromSchema<typeof modelSchema>;

export interface ParsedEntry {
  /** Undefined when an error makes the whole entry unusable. */
  readonly model: Model | undefined;
  /** Errors to report; with a model, they concern variants that were skipped. Pointers are relative to the entry. */
  readonly errors: readonly SchemaError[];
}

const validateModel = createReader(modelSchema);
const knownEngines: readonly string[] = variantSchema.properties.engine.enum;

/** Parses a catalogue entry. Variants for unknown engines are skipped and reported, if another variant remains. */
export function parseEntry(value: unknown): ParsedEntry {
  const variants = listVariants(value);
  const skipped = variants.filter(({ engine }) => engine !== undefined && !knownEngines.includes(engine));
  if (skipped.length === 0 || skipped.length === variants.length) return validateEntry(value, variants);
  const kept = variants.filter((variant) => !skipped.includes(variant));
  const entry = { ...(value as object), variants: kept.map((variant) => variant.value) };
  const { model, errors } = validateEntry(entry, kept);
  return { model, errors: [...skipped.map(unknownEngineError), ...errors] };
}

interface Variant {
  readonly value: unknown;
  /** Index in the catalogue file. */
  readonly index: number;
  readonly engine: string | undefined;
}

function listVariants(entry: unknown): readonly Variant[] {
  const variants = isObject(entry) ? entry['variants'] : [];
  return (Array.isArray(variants) ? variants : []).map((value: unknown, index) => {
    const engine = isObject(value) ? value['engine'] : undefined;
    return { value, index, engine: typeof engine === 'string' ? engine : undefined };
  });
}

const unknownEngineError = ({ index, engine = '' }: Variant): SchemaError => ({
  pointer: `/variants/${index}/engine`,
  message: `is no engine of this server: "${engine}"${didYouMean(engine, knownEngines)}; the variant is ignored`,
});

/** @param variants those of the entry, with their places in the file. */
function validateEntry(entry: unknown, variants: readonly Variant[]): ParsedEntry {
  const reading = validateModel(entry);
  const errors = reading.ok ? entryErrors(reading.value, entry, variants) : reading.errors;
  if (reading.ok && errors.length === 0) return { model: reading.value, errors };
  const located = errors.map((error) => ({
    ...error,
    pointer: error.pointer.replace(/(?<=^\/variants\/)\d+/, (index) => String(variants[Number(index)]?.index ?? index)),
  }));
  return { model: undefined, errors: located };
}

const entryErrors = (model: Model, written: unknown, variants: readonly Variant[]): readonly SchemaError[] => [
  ...engineErrors(model, variants),
  ...purposeErrors(model, written),
  ...loraErrors(model),
  ...languageErrors(model),
  ...splitFileHashErrors(model),
  ...pathErrors(model),
];

/** What an entry cannot have with its purpose. */
function* purposeErrors({ purpose, embedding, variants }: Model, written: unknown): Generator<SchemaError> {
  if (purpose === 'chat') {
    const message = 'is for embedding models: remove it, or add "purpose": "embedding"';
    if (embedding !== undefined) yield { pointer: '/embedding', message };
    return;
  }
  for (const name of ['tool_call_format', 'default_sampling'])
    if (isObject(written) && name in written)
      yield { pointer: `/${name}`, message: 'is for chat models: remove it, or the purpose' };
  const remote = variants.findIndex(({ engine }) => engine !== 'llama-cpp');
  const message = `is ${variants[remote]?.engine}, which computes no embeddings: use the engine llama-cpp, or remove the purpose`;
  if (remote >= 0) yield { pointer: `/variants/${remote}/engine`, message };
}

const languageNames = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** Whether a text is the code of a language (ISO 639). Many models have the same ones, and each name takes long to find. */
export const isLanguage = memoizedByKey(
  (code: string) => code,
  (code) => /^[a-z]{2,3}$/.test(code) && languageNames.of(code) !== undefined,
);

function* languageErrors({ languages = 'en' }: Model): Generator<SchemaError> {
  for (const code of languages.split(' '))
    if (!isLanguage(code))
      yield {
        pointer: '/languages',
        message: `has "${code}", which is no code of ISO 639; write codes such as "en de"`,
      };
}

function* splitFileHashErrors({ variants }: Model): Generator<SchemaError> {
  for (const [index, { sha256, files }] of variants.entries()) {
    const message = `is the hash of one file, but the variant has ${files.length}: remove it, and the hashes of the repository are checked`;
    if (sha256 !== undefined && files.length > 1) yield { pointer: `/variants/${index}/sha256`, message };
  }
}

/** Errors of file names that are others, or none, on some system. Pointers are relative to the entry. */
function* pathErrors({ variants }: Model): Generator<SchemaError> {
  for (const [index, { files, huggingface_repo: repo = 'none', revision }] of variants.entries()) {
    const paths = [
      ...files.map((file, place) => [`files/${place}`, file] as const),
      ['huggingface_repo', repo] as const,
      // A folder has the revision after the name of the repository, so only its end counts.
      ['revision', `@${encodeURIComponent(revision)}`] as const,
    ];
    for (const [place, path] of paths) {
      const message = findPathProblem(path);
      if (message !== undefined) yield { pointer: `/variants/${index}/${place}`, message };
    }
  }
}

/** Errors of the adapters of an entry. Pointers are relative to it. */
const loraErrors = ({ variants, purpose }: Model): readonly SchemaError[] =>
  variants.flatMap(({ lora = [] }, variant) => {
    const place = `/variants/${variant}/lora`;
    const useless = 'is for chat models: remove it, or the purpose';
    if (purpose === 'embedding' && lora.length > 0) return [{ pointer: place, message: useless }];
    const sources = lora.map(({ file, url }) => file ?? url);
    return lora.flatMap(({ file, url }, index) => {
      const pointer = `${place}/${index}`;
      if ((file === undefined) === (url === undefined)) return [{ pointer, message: 'must have either file or url' }];
      const first = sources.indexOf(file ?? url);
      return first < index ? [{ pointer, message: `is the same as ${place}/${first}: add up their scales` }] : [];
    });
  });
