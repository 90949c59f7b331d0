import type { FromSchema, ObjectSchema, Schema } from '../../protocol/schema.ts';
import { array, boolean, integer, number, object, partialObject, uint32 } from '../../protocol/schemaBuilders.ts';
import type { Sampling } from '../../protocol/frames.gen.ts';

/** A sampling parameter: a row of `samplingTable`. */
interface SamplingRow {
  /** Without a default: absent ones come from the node, then from the model, then from the column `default`. */
  readonly schema: Schema;
  readonly default: unknown;
  /** Name in the frames of the protocol. Absent: they do not have it. */
  readonly wire?: keyof Sampling;
  /**
   * Of those that an inference server applies (the others are applied here): the value with which the likeliest token is taken. A
   * request to llama-server has them under the same name, which of an object is the prefix of its members' fields.
   */
  readonly greedy?: unknown;
  /** Field of a request to an inference server with OpenAI's API, vLLM or SGLang. Absent: it has none. */
  readonly openAi?: string;
  /**
   * Of those that the requests to the own OpenAI-compatible API have under the same name: the value that changes nothing, which a
   * graph accepts, though it has its own sampling; undefined: there is none.
   */
  readonly api?: number | undefined;
  /** Whether users change it often: a drafted entry of models.json has it. */
  readonly drafted?: true;
}

/** DRY (Don't Repeat Yourself): a penalty for tokens that would continue a repetition, the larger the longer it is. */
const drySchema = partialObject(
  {
    multiplier: number({ minimum: 0, maximum: 100, default: 0 }, '0 = off; 0.8 is usual.'),
    base: number(
      { minimum: 1, maximum: 100, default: 1.75 },
      'The penalty is multiplier * base ^ (length of the repetition - allowed_length).',
    ),
    allowed_length: integer(
      { minimum: 0, maximum: 1_000_000, default: 2 },
      'Shorter repetitions are not penalized, in tokens.',
    ),
    penalty_last_n: integer(
      { minimum: 0, maximum: 1_000_000, default: 64 },
      'Only the last tokens of the prompt and the text so far are looked at, so many of them; 0 = off.',
    ),
    sequence_breakers: array(
      {
        minItems: 1,
        maxItems: 64,
        items: { type: 'string', minLength: 1, maxLength: 40 },
        default: ['\n', ':', '"', '*'],
      },
      'Texts that a repetition ends at; they are never penalized.',
    ),
  },
  "DRY (Don't Repeat Yourself): penalizes tokens that would continue a repetition.",
);

/** XTC (Exclude Top Choices): of several likely tokens only the least likely one is kept. */
const xtcSchema = partialObject(
  {
    probability: number({ minimum: 0, maximum: 1, default: 0 }, 'How often; 0 = off.'),
    threshold: number(
      { minimum: 0, maximum: 1, default: 0.1 },
      'Tokens at least this probable are the likely ones; above 0.5 there is only one, and it is kept.',
    ),
  },
  'XTC (Exclude Top Choices): of several likely tokens only the least likely one is kept.',
);

/** Sampling parameters, by llama.cpp's names. Types, schemas, defaults and fields of frames derive from it. */
const samplingTable = {
  temperature: {
    schema: number({ minimum: 0, maximum: 5 }, '0 = always the likeliest token.'),
    default: 0.7,
    wire: 'temperature',
    greedy: 0,
    openAi: 'temperature',
    api: 1,
    drafted: true,
  },
  top_p: {
    schema: number(
      { minimum: 0, maximum: 1 },
      'Nucleus sampling: only the likeliest tokens whose probabilities add up to this; 1 = all.',
    ),
    default: 1,
    wire: 'topP',
    greedy: 1,
    openAi: 'top_p',
    api: 1,
    drafted: true,
  },
  top_k: {
    schema: integer(uint32, 'Only this many of the likeliest tokens; 0 = all.'),
    default: 0,
    wire: 'topK',
    greedy: 0,
    openAi: 'top_k',
    api: undefined,
    drafted: true,
  },
  min_p: {
    schema: number({ minimum: 0, maximum: 1 }, 'Only tokens at least this likely, relative to the likeliest one.'),
    default: 0.05,
    wire: 'minP',
    greedy: 0,
    openAi: 'min_p',
    api: undefined,
    drafted: true,
  },
  repeat_penalty: {
    schema: number({ minimum: 0.01, maximum: 100 }, 'Divides the logits of recent tokens; 1 = no penalty.'),
    default: 1,
    wire: 'repeatPenalty',
    greedy: 1,
    openAi: 'repetition_penalty',
    api: undefined,
    drafted: true,
  },
  presence_penalty: {
    schema: number({ minimum: -2, maximum: 2 }, 'Subtracted once from the logit of each recent token.'),
    default: 0,
    wire: 'presencePenalty',
    greedy: 0,
    openAi: 'presence_penalty',
    api: 0,
  },
  frequency_penalty: {
    schema: number({ minimum: -2, maximum: 2 }, 'Subtracted from the logit of a recent token each time it occurred.'),
    default: 0,
    wire: 'frequencyPenalty',
    greedy: 0,
    openAi: 'frequency_penalty',
    api: 0,
  },
  max_tokens: {
    schema: integer({ ...uint32, minimum: 1 }, 'Maximum number of tokens of one answer.'),
    default: 2048,
    wire: 'maxTokens',
  },
  max_tokens_per_second: {
    schema: integer(uint32, 'Tokens are computed no faster, and the machine has time for other work; 0 = no limit.'),
    default: 0,
    wire: 'maxTokensPerSecond',
  },
  speculate: {
    schema: {
      enum: ['off', 'prompt'],
      description: 'prompt = guesses text that repeats the prompt and checks it in one batch; the text stays the same.',
    },
    default: 'off',
    wire: 'speculate',
  },
  seed: {
    schema: integer(uint32, '0 = random.'),
    default: 0,
    wire: 'seed',
  },
  stop: {
    schema: array(
      { maxItems: 16, items: { type: 'string', minLength: 1, maxLength: 256 } },
      'Strings that end the answer.',
    ),
    default: [],
  },
  dry: {
    schema: drySchema,
    default: memberDefaults(drySchema),
    greedy: { multiplier: 0, base: 1, allowed_length: 0, penalty_last_n: 0, sequence_breakers: [] },
  },
  xtc: {
    schema: xtcSchema,
    default: memberDefaults(xtcSchema),
    greedy: { probability: 0, threshold: 1 },
  },
  logit_bias: {
    schema: object(
      {
        maxProperties: 256,
        propertyNames: { minLength: 1, maxLength: 256 },
        additionalProperties: {
          anyOf: [
            number({ minimum: -100, maximum: 100 }, 'a number from -100 to 100'),
            boolean({ enum: [false] }, 'false'),
          ],
        },
      },
      'Texts, and what is added to the logit of each of their tokens; false = they are forbidden. "word" and " word" are different tokens.',
    ),
    default: {},
  },
} as const satisfies Readonly<Record<string, SamplingRow>>;

type SamplingTable = typeof samplingTable;
type Column = keyof SamplingRow;

export type SamplingName<C extends Column = 'schema'> = {
  [Name in keyof SamplingTable]: SamplingTable[Name] extends { readonly [Key in C]: unknown } ? Name : never;
}[keyof SamplingTable];

type Values<C extends Column, Has extends Column = C> = {
  readonly [Name in SamplingName<C> & SamplingName<Has>]: SamplingTable[Name] extends {
    readonly [Key in C]: infer Value;
  }
    ? Value
    : never;
};

/** A column, in the order of the table: its value for each parameter that has it, and `other` if that is given. */
export const samplingColumn = <C extends Column, Other extends Column = C>(
  column: C,
  other?: Other,
): Values<C, Other> =>
  Object.fromEntries(
    Object.entries<SamplingRow>(samplingTable)
      .filter(([, row]) => column in row && (other ?? column) in row)
      .map(([name, row]) => [name, row[column]]),
  ) as Values<C, Other>;

/** Sampling parameters under the names of a column: those that have it. */
export const renameSampling = <C extends 'wire' | 'openAi'>(
  sampling: Pick<SamplingParams, SamplingName<C>>,
  column: C,
): Renamed<C> =>
  Object.fromEntries(
    Object.entries(samplingColumn(column)).map(([name, field]) => [field, sampling[name as SamplingName<C>]]),
  ) as Renamed<C>;

type Renamed<C extends Column> = {
  readonly [Name in SamplingName<C> as Values<C>[Name] & string]: SamplingParams[Name];
};

/** JSON Schema of sampling parameters in models.json and graphs. Absent ones come from the model, then from `defaultSampling`. */
export const samplingSchema = {
  type: 'object',
  default: {},
  additionalProperties: false,
  description: 'How tokens are sampled; absent parameters come from the model.',
  properties: samplingColumn('schema'),
} as const satisfies ObjectSchema;

/** Sampling parameters, each of them optional. */
export type PartialSampling = FromSchema<typeof samplingSchema>;
export type SamplingParams = { readonly [Name in keyof SamplingTable]: FromSchema<SamplingTable[Name]['schema']> };
export type DryParams = SamplingParams['dry'];

/** Sampling parameters that neither the graph nor the model sets. */
export const defaultSampling: SamplingParams = samplingColumn('default');

/** All sampling parameters: those of a model, and what replaces them. */
export function mergeSampling(model: SamplingParams, changes: PartialSampling): SamplingParams {
  const merged = { ...model, ...changes };
  // Divided by less, logits are above what the 32-bit floats of a sampler hold, and the token would be any.
  return merged.temperature < 1e-6 ? { ...merged, temperature: 0 } : merged;
}

function memberDefaults<S extends ObjectSchema>({ properties }: S): FromSchema<S> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [name, member.default]),
  ) as FromSchema<S>;
}
