import { describePointer } from '../../base/jsonPointer.ts';
import { type FromSchema, type ObjectSchema } from '../../protocol/schema.ts';

/** JSON Schema of one node in a graph document. Its params are validated by its node type. */
export const nodeSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['type'],
  properties: {
    type: { type: 'string', description: 'The node type.' },
    params: { type: 'object', default: {}, description: 'Parameters of the node type.' },
    exits: {
      type: 'object',
      default: {},
      additionalProperties: { type: 'string' },
      description: 'Target node of each exit; an exit that is absent or "" ends the turn.',
    },
  },
} as const satisfies ObjectSchema;

/** JSON Schema of a graph document: a file in graphs/, or the graph that a client sends. */
export const graphSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['start_node', 'nodes'],
  properties: {
    $schema: { type: 'string', description: 'Where editors find the schema.' },
    description: { type: 'string', default: '', editor: 'multiline', description: 'What the graph is for.' },
    default_model_name: {
      type: 'string',
      default: '',
      editor: 'model',
      description: 'Model of the nodes that name none, unless the client names one.',
    },
    start_node: { type: 'string', description: 'The node that a turn begins with.' },
    nodes: { type: 'object', additionalProperties: nodeSchema, description: 'The nodes by name.' },
  },
} as const satisfies ObjectSchema;

/** A graph document that `graphSchema` has accepted; params are not validated yet. */
export type GraphDocument = FromSchema<typeof graphSchema>;

/** Formats a JSON pointer into a graph for error messages: `answer.params.sampling`. */
export function describeGraphPointer(pointer: string): string {
  const place = describePointer(pointer.replace(/^\/nodes(?=\/)/, ''));
  return place === '' ? 'the graph' : place.replace(/^\./, '');
}
