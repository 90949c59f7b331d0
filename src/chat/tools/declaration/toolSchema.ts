import { closedObject, type FromSchema, type Schema } from '../../../protocol/schema.ts';
import type { ownFacts } from '../../../base/schemaKeywords.ts';

/** JSON Schemas of the facts of a parameter that are not about its type. `examples` is a keyword of JSON Schema, too. */
export const factSchemas = {
  source: {
    type: 'string',
    enum: ['customer', 'context', 'any'],
    description:
      'customer: the value must appear in what the user has said; context: the value is never taken from the user alone, and the user is not asked for it; any: it is not checked. Otherwise the call has an issue.',
  },
  significance: { type: 'string', description: 'Why the value is needed, for the prompt that asks the user for it.' },
  examples: { type: 'array', items: {}, description: 'Example values.' },
  hidden: { type: 'boolean', description: 'Whether the user is never asked for it.' },
  precedence: {
    type: 'integer',
    description: 'Order in which missing parameters are asked for, lowest first; default: 0.',
  },
  enum_from: {
    type: 'string',
    minLength: 1,
    description:
      'Name of a variable of the message: a JSON list, which is the "enum" of this turn. Where it is missing or wrong, the tool is left out of the turn.',
  },
} as const satisfies Readonly<Record<(typeof ownFacts)[number] | 'examples', Schema>>;

const paramSchema = closedObject(['name', 'type'], {
  name: { type: 'string', minLength: 1, description: 'Name of the parameter.' },
  type: {
    type: 'string',
    enum: ['string', 'integer', 'number', 'boolean', 'array', 'object', 'str', 'int', 'float', 'bool', 'list', 'dict'],
    description: 'Type of its value. The names of Python (the last six) are understood, with a warning.',
  },
  description: { type: 'string', description: 'What the parameter means, for the model.' },
  required: { type: 'boolean', description: 'Whether a call must have it; default: true.' },
  enum: { type: 'array', minItems: 1, items: {}, description: 'The only values allowed.' },
  items: { type: 'object', description: 'JSON Schema of the elements of an array.' },
  ...factSchemas,
});

// No default in here: ajv fills none into the branches of a choice.
const members = {
  name: {
    type: 'string',
    pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$',
    description: 'Name of the tool, as the model writes it: a letter or _, then at most 63 of A-Z a-z 0-9 _ . -',
  },
  description: { type: 'string', editor: 'multiline', description: 'What the tool does, for the model.' },
  consequential: {
    type: 'boolean',
    description:
      'Whether a call has consequences outside of the conversation: a call with any issue is not sent, and the client should ask the user first; default: false.',
  },
  parameters: {
    description: 'A list of parameters, or a JSON Schema of type object; default: none.',
    anyOf: [
      { type: 'array', items: paramSchema, description: 'a list of parameters' },
      { type: 'object', description: 'a JSON Schema of type object' },
    ],
  },
} as const;

/** JSON Schema of a tool declaration: the single source of truth for its two forms, turngraph's own and OpenAI's. */
export const toolSchema = {
  anyOf: [
    {
      type: 'object',
      description: 'a tool with name, description and parameters',
      additionalProperties: false,
      required: ['name', 'description'],
      properties: members,
    },
    {
      type: 'object',
      description: 'a tool in the form of OpenAI',
      additionalProperties: false,
      required: ['function'],
      properties: {
        type: { type: 'string', enum: ['function'], description: 'The kind of tool: always a function.' },
        function: {
          type: 'object',
          additionalProperties: false,
          required: ['name'],
          description: 'The function.',
          properties: {
            ...members,
            strict: { type: 'boolean', description: 'Not used: `strict` of the node is for all its tools.' },
          },
        },
        consequential: members.consequential,
      },
    },
  ],
} as const;

/** A tool as a client declares it. */
export type ToolDeclaration = FromSchema<typeof toolSchema>;

/** Parameters as a client declares them. */
export type DeclaredParameters = FromSchema<typeof members.parameters>;

/** One parameter of a list. */
export type ListedParameter = FromSchema<typeof paramSchema>;

/** JSON Schema of a tool of a graph: a declaration, or the name of one that the client brings. */
export const graphToolSchema = {
  anyOf: [
    ...toolSchema.anyOf,
    { ...members.name, description: 'the name of a tool that the program brings with createAgent' },
  ],
} as const;

/** The name of a tool, in whichever form. */
export const declaredToolName = (tool: ToolDeclaration | string): string => {
  if (typeof tool === 'string') return tool;
  return 'function' in tool ? tool.function.name : tool.name;
};
