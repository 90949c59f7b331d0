import type { Schema } from '../schema.ts';
import { graphSchema, nodeSchema } from './document.ts';
import type { RegisteredType, Registry } from './registry.ts';

/** The JSON Schema (draft-07) that lets an editor complete and check graph files, for the node types of a registry. */
export function editorSchema(registry: Registry): object {
  const types = [...registry.values()];
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'turngraph graph',
    ...plain(graphSchema),
    properties: {
      ...Object.fromEntries(Object.entries(graphSchema.properties).map(([name, schema]) => [name, plain(schema)])),
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
        // One branch a type, chosen by its name: an editor then complains about the parameter, not about all types.
        allOf: types.map(branch),
      },
    },
  };
}

const branch = ({ type, summary, params, exits }: RegisteredType): object => ({
  if: { properties: { type: { const: type } }, required: ['type'] },
  then: {
    description: summary,
    additionalProperties: false,
    ...(params.required && params.required.length > 0 && { required: ['type', 'params'] }),
    properties: {
      type: { const: type, description: summary },
      params: plain(params),
      exits: {
        type: 'object',
        additionalProperties: false,
        description: nodeSchema.properties.exits.description,
        properties: Object.fromEntries(exits.map((exit) => [exit, { type: 'string' }])),
      },
    },
  },
});

// Without our own keyword, which editors do not know; what may change between turns is said in words.
function plain(schema: Schema): object {
  const { live, ...rest } = schema;
  const said = live ? `${rest.description ?? ''} May change between turns.`.trim() : rest.description;
  return {
    ...rest,
    ...(said !== undefined && { description: said }),
    ...(rest.properties && { properties: mapped(rest.properties) }),
    ...(rest.items && { items: plain(rest.items) }),
    ...(rest.anyOf && { anyOf: rest.anyOf.map(plain) }),
    ...(typeof rest.additionalProperties === 'object' && { additionalProperties: plain(rest.additionalProperties) }),
  };
}

const mapped = (properties: Readonly<Record<string, Schema>>): object =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plain(schema)]));
