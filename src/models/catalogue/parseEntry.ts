import { createReader, type FromSchema, type SchemaError } from '../../schema.ts';
import { didYouMean } from '../../didYouMean.ts';
import { modelSchema, variantSchema } from './modelSchema.ts';

type Model = FromSchema<typeof modelSchema>;

/** What an entry of a catalogue gives: a model, unless a refusal concerns all of it, and what is to be told. */
export interface ParsedEntry {
  readonly model: Model | undefined;
  /** Pointers begin at the entry. */
  readonly errors: readonly SchemaError[];
}

const readModel = createReader(modelSchema);
const engines: readonly string[] = variantSchema.properties.engine.enum;

/** Reads an entry. Variants for engines that are not here are left out and told of, if another one is left. */
export function parseEntry(value: unknown): ParsedEntry {
  const variants = listVariants(value);
  const foreign = variants.filter(({ engine }) => engine !== undefined && !engines.includes(engine));
  if (foreign.length === 0 || foreign.length === variants.length) return validateEntry(value, (index) => index);
  const kept = variants.filter((variant) => !foreign.includes(variant));
  const rest = { ...(value as object), variants: kept.map(({ given }) => given) };
  const { model, errors } = validateEntry(rest, (index) => kept[index]?.index ?? index);
  return { model, errors: [...foreign.map(skippedVariant), ...errors] };
}

interface Variant {
  readonly given: unknown;
  readonly index: number;
  readonly engine: string | undefined;
}

function listVariants(value: unknown): readonly Variant[] {
  const given = typeof value === 'object' && value !== null && 'variants' in value ? value.variants : [];
  return (Array.isArray(given) ? given : []).map((variant: unknown, index) => {
    const engine = typeof variant === 'object' && variant !== null && 'engine' in variant ? variant.engine : undefined;
    return { given: variant, index, engine: typeof engine === 'string' ? engine : undefined };
  });
}

const skippedVariant = ({ index, engine = '' }: Variant): SchemaError => ({
  pointer: `/variants/${index}/engine`,
  message: `is none that is here: "${engine}"${didYouMean(engine, engines)}; the variant is left out`,
});

function validateEntry(value: unknown, indexOf: (index: number) => number): ParsedEntry {
  const reading = readModel(value);
  const errors = reading.ok ? splitFileHashErrors(reading.value) : reading.errors;
  if (reading.ok && errors.length === 0) return { model: reading.value, errors };
  const placed = errors.map((refusal) => ({
    ...refusal,
    pointer: refusal.pointer.replace(/^\/variants\/(\d+)/, (_, index) => `/variants/${indexOf(Number(index))}`),
  }));
  return { model: undefined, errors: placed };
}

const splitFileHashErrors = ({ variants }: Model): readonly SchemaError[] =>
  variants.flatMap(({ sha256, files }, index) =>
    sha256 === undefined || files.length === 1
      ? []
      : [
          {
            pointer: `/variants/${index}/sha256`,
            message: `is the hash of one file, and here are ${files.length}: leave it out, and the repository's are checked`,
          },
        ],
  );
