import { reader, type FromSchema, type Refusal } from '../../schema.ts';
import { didYouMean } from '../../didYouMean.ts';
import { modelSchema, variantSchema } from './modelSchema.ts';

type Model = FromSchema<typeof modelSchema>;

/** What an entry of a catalogue gives: a model, unless a refusal concerns all of it, and what is to be told. */
export interface EntryReading {
  readonly model: Model | undefined;
  /** Pointers begin at the entry. */
  readonly refusals: readonly Refusal[];
}

const readModel = reader(modelSchema);
const engines: readonly string[] = variantSchema.properties.engine.enum;

/** Reads an entry. Variants for engines that are not here are left out and told of, if another one is left. */
export function readEntry(value: unknown): EntryReading {
  const variants = variantsOf(value);
  const foreign = variants.filter(({ engine }) => engine !== undefined && !engines.includes(engine));
  if (foreign.length === 0 || foreign.length === variants.length) return readWhole(value, (index) => index);
  const kept = variants.filter((variant) => !foreign.includes(variant));
  const rest = { ...(value as object), variants: kept.map(({ given }) => given) };
  const { model, refusals } = readWhole(rest, (index) => kept[index]?.index ?? index);
  return { model, refusals: [...foreign.map(leftOut), ...refusals] };
}

interface Variant {
  readonly given: unknown;
  readonly index: number;
  readonly engine: string | undefined;
}

function variantsOf(value: unknown): readonly Variant[] {
  const given = typeof value === 'object' && value !== null && 'variants' in value ? value.variants : [];
  return (Array.isArray(given) ? given : []).map((variant: unknown, index) => {
    const engine = typeof variant === 'object' && variant !== null && 'engine' in variant ? variant.engine : undefined;
    return { given: variant, index, engine: typeof engine === 'string' ? engine : undefined };
  });
}

const leftOut = ({ index, engine = '' }: Variant): Refusal => ({
  pointer: `/variants/${index}/engine`,
  message: `is none that is here: "${engine}"${didYouMean(engine, engines)}; the variant is left out`,
});

function readWhole(value: unknown, indexOf: (index: number) => number): EntryReading {
  const reading = readModel(value);
  const refusals = reading.ok ? hashesOfMany(reading.value) : reading.refusals;
  if (reading.ok && refusals.length === 0) return { model: reading.value, refusals };
  const placed = refusals.map((refusal) => ({
    ...refusal,
    pointer: refusal.pointer.replace(/^\/variants\/(\d+)/, (_, index) => `/variants/${indexOf(Number(index))}`),
  }));
  return { model: undefined, refusals: placed };
}

const hashesOfMany = ({ variants }: Model): readonly Refusal[] =>
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
