import { catalogueSchema } from './catalogue.ts';
import { modelSchema } from './modelSchema.ts';
import { defaultSampling, samplingSchema } from '../../contract/samplingParams.ts';

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
