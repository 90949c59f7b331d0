import type { SamplingParams } from '../../contract/engine.ts';
import type { FromSchema, ObjectSchema } from '../../../protocol/schema.ts';

/** JSON Schema of sampling parameters in models.json and graphs. Absent ones come from the model, then from `defaultSampling`. */
export const samplingSchema = {
  type: 'object',
  default: {},
  additionalProperties: false,
  description: 'How tokens are sampled; absent parameters come from the model.',
  properties: {
    temperature: { type: 'number', minimum: 0, maximum: 5, description: '0 = always the likeliest token.' },
    top_p: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      description: 'Nucleus sampling: only the likeliest tokens whose probabilities add up to this; 1 = all.',
    },
    top_k: { type: 'integer', minimum: 0, description: 'Only this many of the likeliest tokens; 0 = all.' },
    min_p: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      description: 'Only tokens at least this likely, relative to the likeliest one.',
    },
    repeat_penalty: {
      type: 'number',
      exclusiveMinimum: 0,
      description: 'Divides the logits of recent tokens; 1 = no penalty.',
    },
    presence_penalty: {
      type: 'number',
      minimum: -2,
      maximum: 2,
      description: 'Subtracted once from the logit of each recent token.',
    },
    frequency_penalty: {
      type: 'number',
      minimum: -2,
      maximum: 2,
      description: 'Subtracted from the logit of a recent token each time it occurred.',
    },
    max_tokens: { type: 'integer', minimum: 1, description: 'Maximum number of tokens of one answer.' },
    max_tokens_per_second: {
      type: 'integer',
      minimum: 0,
      description: 'Tokens are computed no faster, and the machine has time for other work; 0 = no limit.',
    },
    speculate: {
      enum: ['off', 'prompt'],
      description: 'prompt = guesses text that repeats the prompt and checks it in one batch; the text stays the same.',
    },
    seed: { type: 'integer', minimum: 0, maximum: 4294967295, description: '0 = random.' },
    stop: {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      description: 'Strings that end the answer.',
    },
    dry: {
      type: 'object',
      additionalProperties: false,
      description: "DRY (Don't Repeat Yourself): penalizes tokens that would continue a repetition.",
      properties: {
        multiplier: { type: 'number', minimum: 0, maximum: 100, default: 0, description: '0 = off; 0.8 is usual.' },
        base: {
          type: 'number',
          minimum: 1,
          maximum: 100,
          default: 1.75,
          description: 'The penalty is multiplier * base ^ (length of the repetition - allowed_length).',
        },
        allowed_length: {
          type: 'integer',
          minimum: 0,
          maximum: 1_000_000,
          default: 2,
          description: 'Shorter repetitions are not penalized, in tokens.',
        },
        penalty_last_n: {
          type: 'integer',
          minimum: 0,
          maximum: 1_000_000,
          default: 64,
          description:
            'Only the last tokens of the prompt and the text so far are looked at, so many of them; 0 = off.',
        },
        sequence_breakers: {
          type: 'array',
          minItems: 1,
          maxItems: 64,
          items: { type: 'string', minLength: 1, maxLength: 40 },
          default: ['\n', ':', '"', '*'],
          description: 'Texts that a repetition ends at; they are never penalized.',
        },
      },
    },
    xtc: {
      type: 'object',
      additionalProperties: false,
      description: 'XTC (Exclude Top Choices): of several likely tokens only the least likely one is kept.',
      properties: {
        probability: { type: 'number', minimum: 0, maximum: 1, default: 0, description: 'How often; 0 = off.' },
        threshold: {
          type: 'number',
          minimum: 0,
          maximum: 1,
          default: 0.1,
          description:
            'Tokens at least this probable are the likely ones; above 0.5 there is only one, and it is kept.',
        },
      },
    },
    logit_bias: {
      type: 'object',
      maxProperties: 256,
      propertyNames: { minLength: 1, maxLength: 256 },
      additionalProperties: {
        anyOf: [
          { type: 'number', minimum: -100, maximum: 100, description: 'a number from -100 to 100' },
          { type: 'boolean', enum: [false], description: 'false' },
        ],
      },
      description:
        'Texts, and what is added to the logit of each of their tokens; false = they are forbidden. "word" and " word" are different tokens.',
    },
  },
} as const satisfies ObjectSchema;

/** Sampling parameters, each of them optional. */
export type PartialSampling = FromSchema<typeof samplingSchema>;

/** Sampling parameters that neither the graph nor the model sets. */
export const defaultSampling: SamplingParams = {
  temperature: 0.7,
  top_p: 1,
  top_k: 0,
  min_p: 0.05,
  repeat_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  max_tokens: 2048,
  max_tokens_per_second: 0,
  speculate: 'off',
  seed: 0,
  stop: [],
  dry: { multiplier: 0, base: 1.75, allowed_length: 2, penalty_last_n: 64, sequence_breakers: ['\n', ':', '"', '*'] },
  xtc: { probability: 0, threshold: 0.1 },
  logit_bias: {},
};
