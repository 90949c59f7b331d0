import { isObject } from '../../base/jsonTypes.ts';
import { mapSchemas } from '../../base/schemaKeywords.ts';
import type { Schema } from '../../protocol/schema.ts';
import { graphSchema, nodeSchema } from './document.ts';
import type { RegisteredType, Registry } from './registry.ts';

/** Builds graph.schema.json: the JSON Schema (draft-07) with which editors complete and check graph files. */
export function editorSchema(registry: Registry): object {
  const types = [...registry.values()];
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'turngraph graph',
    ...toPlainSchema(graphSchema),
    properties: {
      ...(plainSchemas('properties', graphSchema.properties) as object),
      nodes: {
        type: 'object',
        description: graphSchema.properties.nodes.description,
        additionalProperties: { $ref: '#/definitions/node' },
      },
    },
    definitions: {
      node: {
        type: 'object',
        required: nodeSchema.required,
        properties: {
          type: { enum: types.map(({ type }) => type), description: nodeSchema.properties.type.description },
        },
        // if/then per type instead of oneOf: an editor then reports the wrong parameter, not a mismatch with every type.
        allOf: types.map(createTypeBranch),
      },
    },
  };
}

const createTypeBranch = ({ type, summary, params, fixedExits, exitsFrom }: RegisteredType): object => ({
  if: { properties: { type: { const: type } }, required: ['type'] },
  then: {
    description: summary,
    additionalProperties: false,
    ...(params.required && params.required.length > 0 && { required: ['type', 'params'] }),
    properties: {
      type: { const: type, description: summary },
      params: toPlainSchema(params),
      exits: {
        type: 'object',
        description: nodeSchema.properties.exits.description,
        ...(fixedExits
          ? {
              additionalProperties: false,
              properties: Object.fromEntries(fixedExits.map((exit) => [exit, { type: 'string' }])),
            }
          : {
              ...(exitsFrom && { 'x-exits-from': exitsFrom }),
              additionalProperties: { type: 'string' },
            }),
      },
    },
  },
});

// Replaces the keyword `live` by a sentence in the description, for editors, and by `x-live`, for programs with forms;
// they read `x-editor`, too.
function toPlainSchema(schema: Schema): object {
  const { live, editor, ...rest } = schema;
  return {
    ...Object.fromEntries(Object.entries(rest).map(([keyword, value]) => [keyword, plainSchemas(keyword, value)])),
    ...(live && { description: `${rest.description ?? ''} May change between turns.`.trim(), 'x-live': true }),
    ...(editor && { 'x-editor': editor }),
  };
}

const plainSchemas = (keyword: string, value: unknown): unknown =>
  mapSchemas(keyword, value, (schema) => (isObject(schema) ? toPlainSchema(schema) : schema));
