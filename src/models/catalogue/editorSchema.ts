import { catalogueSchema } from './catalogue.ts';
import { modelSchema } from './modelSchema.ts';
import { defaultSampling, samplingSchema } from './sampling.ts';

/** The JSON Schema (draft-07) that lets an editor complete and check models.json. */
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
      properties: { ...modelSchema.properties, default_sampling: { ...samplingSchema, properties: sampling() } },
    },
  },
});

// Filled in only after a node and a model have said what they want, so that these defaults are not the schema's own.
const sampling = (): object =>
  Object.fromEntries(
    Object.entries(samplingSchema.properties).map(([name, schema]) => [
      name,
      { ...schema, default: defaultSampling[name as keyof typeof defaultSampling] },
    ]),
  );
