import { escapePointerToken } from '../jsonPointer.ts';
import { hasJsonType, isObject } from '../jsonTypes.ts';
import type { FromSchema, ReadResult, SchemaError } from '../schema.ts';
import type { CallGrammar, ToolChoice } from './grammar/grammar.ts';
import type { JsonObject } from './json/value.ts';

const paramSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'type'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'Name of the parameter.' },
    type: {
      type: 'string',
      enum: ['string', 'integer', 'number', 'boolean', 'array', 'object'],
      description: 'Type of its value.',
    },
    description: { type: 'string', description: 'What it is, for the model.' },
    required: { type: 'boolean', description: 'Whether a call must give it; true unless said otherwise.' },
    enum: { type: 'array', minItems: 1, items: {}, description: 'The only values allowed.' },
    items: { type: 'object', description: 'JSON Schema of the elements of an array.' },
    source: {
      type: 'string',
      enum: ['customer', 'context'],
      description: 'customer: only a value that the user has said counts.',
    },
    significance: { type: 'string', description: 'Why the value is needed, for who asks for it.' },
    examples: { type: 'array', items: {}, description: 'Values as they may look.' },
    hidden: { type: 'boolean', description: 'Whether the user is never asked for it.' },
    precedence: {
      type: 'integer',
      description: 'What is missing with the lowest number is asked for first; 0 unless given.',
    },
  },
} as const;

/** How a client declares a tool: the one truth for its shape. */
export const toolSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'description'],
  properties: {
    name: {
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$',
      description: 'Name of the tool, as the model writes it: a letter or _, then at most 63 of A-Z a-z 0-9 _ . -',
    },
    description: { type: 'string', description: 'What the tool does, for the model.' },
    consequential: {
      type: 'boolean',
      default: false,
      description:
        'Whether it changes the world: a call with any issue is not sent, and the client is told to ask first.',
    },
    parameters: {
      default: [],
      description: 'A list of parameters, or a JSON Schema of type object that is passed on as it is.',
      anyOf: [
        { type: 'array', items: paramSchema, description: 'a list of parameters' },
        { type: 'object', description: 'a JSON Schema of type object' },
      ],
    },
  },
} as const;

/** A tool as a client declares it. */
export type ToolDeclaration = FromSchema<typeof toolSchema>;

/** A JSON Schema of a tool's arguments, keys in the order in which the model reads them. */
export interface ArgumentsSchema {
  readonly type: 'object';
  readonly properties?: { readonly [name: string]: { readonly type?: string; readonly [keyword: string]: unknown } };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** A function that the client offers. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: ArgumentsSchema;
  /** Whether it changes the world, and so is held to more. */
  readonly consequential: boolean;
  /** What is known of a parameter beside its schema, by its name. */
  readonly notes: ReadonlyMap<string, ParamNotes>;
}

/** What a model is not told of a parameter. */
export type ParamNotes = Pick<Params[number], 'source' | 'significance' | 'examples' | 'hidden' | 'precedence'>;

/** A call as it stands in a model's text. */
export interface DetectedCall {
  readonly name: string;
  /** As the model wrote them: nothing is coerced or rounded. */
  readonly arguments: JsonObject;
  /** The piece of the text that was read as the call. */
  readonly raw: string;
  /** Whether the text had to be read leniently. */
  readonly repaired: boolean;
}

/** What a format finds in a model's text. */
export interface Detection {
  readonly calls: readonly DetectedCall[];
  /** The text around the calls. */
  readonly residual: string;
  /** Whether the text ends inside a call. */
  readonly truncated: boolean;
}

/** How a family of models was trained to call tools: three things that break when mixed. */
export interface ToolCallFormat {
  readonly name: string;
  /** Where our own wording of the tools stands in the prompt. */
  readonly place: 'system' | 'first-user' | 'last-user';
  /** Our own wording, for models whose template knows no tools. */
  render(tools: readonly Tool[]): string;
  /** Reads calls out of the whole text of a model, its control tokens included. Never throws. */
  detect(text: string): Detection;
  /** What binds calls to the tools; a format without it cannot be strict. @throws ToolsRefused */
  grammar?(tools: readonly Tool[], choice: ToolChoice): CallGrammar;
}

/** Defines a tool-call format. */
export const defineFormat = (format: ToolCallFormat): ToolCallFormat => format;

/** The tool of a declaration; refusals point into the declaration. */
export function readTool({ name, description, parameters, consequential }: ToolDeclaration): ReadResult<Tool> {
  const head = { name, description, consequential };
  if (!isList(parameters)) {
    if (parameters['type'] !== 'object')
      return invalidTool('/parameters/type', 'must be "object": arguments are named');
    const odd = findInvalidKeyword('/parameters', parameters);
    if (odd) return invalidTool(odd.pointer, odd.message);
    return { ok: true, value: { ...head, parameters: parameters as ArgumentsSchema, notes: new Map() } };
  }
  const names = parameters.map((param) => param.name);
  const twice = names.findIndex((param, index) => names.indexOf(param) !== index);
  if (twice >= 0) return invalidTool(`/parameters/${twice}/name`, `stands twice: "${names[twice]}"`);
  const strangers = parameters.flatMap(findEnumMismatches);
  if (strangers.length > 0) return { ok: false, errors: strangers };
  const odd = parameters.flatMap(
    ({ items }, index) => findInvalidKeyword(`/parameters/${index}/items`, items ?? {}) ?? [],
  );
  if (odd.length > 0) return { ok: false, errors: odd };
  const notes = new Map(parameters.map((param) => [param.name, param]));
  return { ok: true, value: { ...head, parameters: toArgumentsSchema(parameters), notes } };
}

type Params = Extract<ToolDeclaration['parameters'], readonly unknown[]>;

const isList = (parameters: ToolDeclaration['parameters']): parameters is Params => Array.isArray(parameters);

// A value of another type than its parameter could never be called.
function findEnumMismatches({ type, enum: values = [] }: Params[number], param: number): SchemaError[] {
  return values.flatMap((value, index) => {
    if (hasJsonType(value, type)) return [];
    const message = `must be of the parameter's type ${type}, not ${JSON.stringify(value)}`;
    return [{ pointer: `/parameters/${param}/enum/${index}`, message }];
  });
}

// Only what is read here, of the arguments and of objects in them; the rest of a client's schema is the model's business.
function findInvalidKeyword(at: string, whole: Readonly<Record<string, unknown>>): SchemaError | undefined {
  const todo: [pointer: string, schema: Readonly<Record<string, unknown>>][] = [[at, whole]];
  for (const [pointer, { properties, required, items }] of todo) {
    if (isObject(items)) todo.push([`${pointer}/items`, items]);
    if (properties === undefined && pointer !== '/parameters') continue;
    if (properties !== undefined && !isObject(properties)) {
      return { pointer: `${pointer}/properties`, message: 'must be an object of JSON Schemas' };
    }
    for (const [name, schema] of Object.entries(properties ?? {})) {
      const place = `${pointer}/properties${escapePointerToken(name)}`;
      if (isObject(schema)) todo.push([place, schema]);
      else if (pointer === '/parameters') return { pointer: place, message: 'must be a JSON Schema' };
    }
    const names: unknown = required ?? [];
    if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
      return { pointer: `${pointer}/required`, message: 'must be a list of names' };
    }
  }
  return undefined;
}

const invalidTool = (pointer: string, message: string): ReadResult<Tool> => ({
  ok: false,
  errors: [{ pointer, message }],
});

// Keys in the order that the model families were trained on; absent ones are left out.
function toArgumentsSchema(params: Params): ArgumentsSchema {
  const properties = params.map(({ name, type, description, enum: values, items }) => [
    name,
    {
      type,
      ...(description !== undefined && { description }),
      ...(values && { enum: values }),
      ...(items && { items }),
    },
  ]);
  const required = params.filter(({ required: wanted = true }) => wanted).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as NonNullable<ArgumentsSchema['properties']>,
    ...(required.length > 0 && { required }),
  };
}
