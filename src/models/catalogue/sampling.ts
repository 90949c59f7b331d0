import type { SamplingParams } from '../../engine/engine.ts';
import type { FromSchema, ObjectSchema } from '../../schema.ts';

/** Sampling parameters as models.json and graphs give them; what is absent is taken from the model, then from `defaultSampling`. */
export const samplingSchema = {
  type: 'object',
  default: {},
  additionalProperties: false,
  description: 'How tokens are drawn; what is absent comes from the model.',
  properties: {
    temperature: { type: 'number', minimum: 0, maximum: 5, description: '0 = always the likeliest token.' },
    top_p: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      description: 'Only the likeliest tokens that make up this share; 1 = all.',
    },
    top_k: { type: 'integer', minimum: 0, description: 'Only so many of the likeliest tokens; 0 = all.' },
    min_p: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      description: 'Only tokens at least so likely, relative to the likeliest.',
    },
    repeat_penalty: {
      type: 'number',
      exclusiveMinimum: 0,
      description: 'Divides the weight of recent tokens; 1 = none.',
    },
    presence_penalty: { type: 'number', minimum: -2, maximum: 2, description: 'Taken off once for each recent token.' },
    frequency_penalty: {
      type: 'number',
      minimum: -2,
      maximum: 2,
      description: 'Taken off each time a recent token occurred.',
    },
    max_tokens: { type: 'integer', minimum: 1, description: 'The most tokens that one answer may have.' },
    seed: { type: 'integer', minimum: 0, maximum: 4294967295, description: '0 = random.' },
    stop: {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      description: 'Strings that end the answer.',
    },
  },
} as const satisfies ObjectSchema;

/** Sampling parameters of which some may be absent. */
export type PartialSampling = FromSchema<typeof samplingSchema>;

/** What holds where neither graph nor model says anything. */
export const defaultSampling: SamplingParams = {
  temperature: 0.7,
  top_p: 1,
  top_k: 0,
  min_p: 0.05,
  repeat_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  max_tokens: 2048,
  seed: 0,
  stop: [],
};
