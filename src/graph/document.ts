import { describePointer } from '../jsonPointer.ts';
import { type FromSchema, type ObjectSchema } from '../schema.ts';

/** The shape of one node in a graph document; its params are checked by its type. */
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
      description: 'For each exit the node to go on with; an exit that is absent or "" ends the turn.',
    },
  },
} as const satisfies ObjectSchema;

/** The shape of a graph document: a file in graphs/, or what a client sends. */
export const graphSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['start_node', 'nodes'],
  properties: {
    $schema: { type: 'string', description: 'Where editors find the schema.' },
    description: { type: 'string', default: '', description: 'What the graph is for.' },
    default_model_name: {
      type: 'string',
      default: '',
      description: 'Model of the nodes that name none, unless the client names one.',
    },
    start_node: { type: 'string', description: 'The node that a turn begins with.' },
    nodes: { type: 'object', additionalProperties: nodeSchema, description: 'The nodes by name.' },
  },
} as const satisfies ObjectSchema;

/** A graph document whose outer shape has been checked. */
export type GraphDocument = FromSchema<typeof graphSchema>;

/** A place in a graph as people name it: `answer.params.sampling`. */
export function describeGraphPointer(pointer: string): string {
  const place = describePointer(pointer.replace(/^\/nodes(?=\/)/, ''));
  return place === '' ? 'the graph' : place.replace(/^\./, '');
}
