import type { SamplingParams } from '../../engine/engine.ts';
import type { FromSchema, ObjectSchema } from '../../schema.ts';

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
};
