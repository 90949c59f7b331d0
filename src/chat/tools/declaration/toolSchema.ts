import type { FromSchema, Schema } from '../../../protocol/schema.ts';
import { array, boolean, closedObject, integer, object, string } from '../../../protocol/schemaBuilders.ts';
import type { ownFacts } from '../../../base/schemaKeywords.ts';

/** JSON Schemas of the facts of a parameter that are not about its type. `examples` is a keyword of JSON Schema, too. */
export const factSchemas = {
  source: string(
    { enum: ['customer', 'context', 'any'] },
    'customer: the value must appear in what the user has said; context: the value is never taken from the user alone, and the user is not asked for it; any: it is not checked. Otherwise the call has an issue.',
  ),
  significance: string('Why the value is needed, for the prompt that asks the user for it.'),
  examples: array({ items: {} }, 'Example values.'),
  hidden: boolean('Whether the user is never asked for it.'),
  precedence: integer('Order in which missing parameters are asked for, lowest first; default: 0.'),
  enum_from: string(
    { minLength: 1 },
    'Name of a variable of the message: a JSON list, which is the "enum" of this turn. Where it is missing or wrong, the tool is left out of the turn.',
  ),
} as const satisfies Readonly<Record<(typeof ownFacts)[number] | 'examples', Schema>>;

/** The type names of Python and those of JSON Schema that they mean. Many tool lists are written for Python. */
export const pythonTypes = {
  str: 'string',
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  dict: 'object',
} as const;

const paramSchema = {
  $comment: '; other keywords of JSON Schema need "parameters": {"type": "object", "properties": {...}}',
  ...closedObject(['name', 'type'], {
    name: string({ minLength: 1 }, 'Name of the parameter.'),
    type: string(
      { enum: [...Object.values(pythonTypes), ...Object.keys(pythonTypes)] },
      'Type of its value. The names of Python (the last six) are understood, with a warning.',
    ),
    description: string('What the parameter means, for the model.'),
    required: boolean('Whether a call must have it; default: true.'),
    enum: array({ minItems: 1, items: {} }, 'The only values allowed.'),
    items: object('JSON Schema of the elements of an array.'),
    ...factSchemas,
  }),
} as const;

// No default in here: ajv fills none into the branches of a choice.
const members = {
  name: string(
    { pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$' },
    'Name of the tool, as the model writes it: a letter or _, then at most 63 of A-Z a-z 0-9 _ . -',
  ),
  description: string({ editor: 'multiline' }, 'What the tool does, for the model.'),
  consequential: boolean(
    'Whether a call has consequences outside of the conversation: a call with any issue is not sent, and the client should ask the user first; default: false.',
  ),
  parameters: {
    description: 'A list of parameters, or a JSON Schema of type object; default: none.',
    anyOf: [array({ items: paramSchema }, 'a list of parameters'), object('a JSON Schema of type object')],
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
        type: string({ enum: ['function'] }, 'The kind of tool: always a function.'),
        function: {
          type: 'object',
          additionalProperties: false,
          required: ['name'],
          description: 'The function.',
          properties: {
            ...members,
            strict: boolean('Not used: `strict` of the node is for all its tools.'),
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
export const declaredToolName = (tool: ToolDeclaration | string): string =>
  typeof tool === 'string' ? tool : 'function' in tool ? tool.function.name : tool.name;
