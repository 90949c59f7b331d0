import { escapePointerToken } from '../jsonPointer.ts';
import { hasJsonType, isObject } from '../jsonTypes.ts';
import type { FromSchema, ReadResult, SchemaError } from '../schema.ts';
import type { AnsweredCall, WrittenCall } from './calls.ts';
import type { CallGrammar, ToolChoice } from './grammar/grammar.ts';
import type { CallMarkup } from './callMarkup.ts';
import type { JsonObject } from './json/value.ts';
import type { ReplyMarks } from './reasoning/replyMarks.ts';

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
    description: { type: 'string', description: 'What the parameter means, for the model.' },
    required: { type: 'boolean', description: 'Whether a call must have it; default: true.' },
    enum: { type: 'array', minItems: 1, items: {}, description: 'The only values allowed.' },
    items: { type: 'object', description: 'JSON Schema of the elements of an array.' },
    source: {
      type: 'string',
      enum: ['customer', 'context'],
      description: 'customer: the value must appear in what the user has said; otherwise the call has an issue.',
    },
    significance: { type: 'string', description: 'Why the value is needed, for the prompt that asks the user for it.' },
    examples: { type: 'array', items: {}, description: 'Example values.' },
    hidden: { type: 'boolean', description: 'Whether the user is never asked for it.' },
    precedence: {
      type: 'integer',
      description: 'Order in which missing parameters are asked for, lowest first; default: 0.',
    },
  },
} as const;

/** JSON Schema of a tool declaration: the single source of truth for its shape. */
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
        'Whether a call has consequences outside of the conversation: a call with any issue is not sent, and the client should ask the user first.',
    },
    parameters: {
      default: [],
      description: 'A list of parameters, or a JSON Schema of type object, which is used unchanged.',
      anyOf: [
        { type: 'array', items: paramSchema, description: 'a list of parameters' },
        { type: 'object', description: 'a JSON Schema of type object' },
      ],
    },
  },
} as const;

/** A tool as a client declares it. */
export type ToolDeclaration = FromSchema<typeof toolSchema>;

/** JSON Schema of a tool's arguments; the order of the keys is that of the prompt. */
export interface ArgumentsSchema {
  readonly type: 'object';
  readonly properties?: { readonly [name: string]: { readonly type?: string; readonly [keyword: string]: unknown } };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** A tool that the client offers (OpenAI: function). */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: ArgumentsSchema;
  /** Whether a call has consequences outside of the conversation. If so, an issue of whatever kind keeps it from being sent. */
  readonly consequential: boolean;
  /** Declared facts of the parameters that are not part of the JSON Schema, by parameter name. */
  readonly notes: ReadonlyMap<string, ParamNotes>;
}

/** Facts of a parameter that are not in the prompt. */
export type ParamNotes = Pick<Params[number], 'source' | 'significance' | 'examples' | 'hidden' | 'precedence'>;

/** A tool call that was parsed from a model's text. */
export interface DetectedCall {
  readonly name: string;
  /** As the model wrote them: not coerced, not rounded. */
  readonly arguments: JsonObject;
  /** The part of the text that was parsed as the call. */
  readonly raw: string;
  /** Whether only the lenient parser could read it, or members that are no part of a call were left aside. */
  readonly repaired: boolean;
  /** What the model wrote about the call at its beginning; absent: nothing. */
  readonly thought?: string;
}

/** The tool calls of a model's text. */
export interface Detection {
  readonly calls: readonly DetectedCall[];
  /** The text without the calls. */
  readonly residual: string;
  /** Whether the text ends inside a call. */
  readonly truncated: boolean;
}

/** What a parser may know in addition to the text. */
export interface DetectOptions {
  /** The offered tools: some notations write values whose type only the schema of the parameter tells. */
  readonly tools?: readonly Tool[];
  /** The marks of the model's replies: what they mark as reasoning has no calls. Default: `<think>` and `[THINK]`. */
  readonly marks?: ReplyMarks;
  /** Whether a call may begin with a member `thought`. Default false: then it is left aside as a repair, in tags only. */
  readonly thought?: boolean;
}

/** Tool-call format of a model family: how tools are put into a prompt, and how calls are detected and constrained. */
export interface ToolCallFormat {
  readonly name: string;
  /** Where the text of `render` is inserted into the prompt. */
  readonly place: 'system' | 'first-user' | 'last-user';
  /** The marks of its own that it writes around calls, in addition to those of all formats; absent: none. */
  readonly markup?: CallMarkup;
  /** The tools as prompt text, for models whose chat template does not support tools. */
  render(tools: readonly Tool[]): string;
  /** Calls of an assistant message as prompt text, for the same models. Default: JSON with "tool" and "args". */
  renderCalls?(calls: readonly WrittenCall[]): string;
  /** The result of one call as prompt text, for the same models. Default: a plain line. */
  renderResult?(call: AnsweredCall): string;
  /** Tool-call parser: finds the calls in the complete text of a model, control tokens included. Never throws. */
  detect(text: string, options?: DetectOptions): Detection;
  /** The grammar of calls of these tools; a format without it cannot be strict. @throws UnsupportedToolSchema */
  grammar?(tools: readonly Tool[], choice: ToolChoice): CallGrammar;
}

/** Defines a tool-call format. */
export const defineFormat = (format: ToolCallFormat): ToolCallFormat => format;

/** Reads a tool declaration; the pointers of errors are into the declaration. */
export function readTool({ name, description, parameters, consequential }: ToolDeclaration): ReadResult<Tool> {
  const common = { name, description, consequential };
  if (!isParamList(parameters)) {
    if (parameters['type'] !== 'object')
      return invalidTool('/parameters/type', 'must be "object": arguments are named');
    const invalid = findInvalidKeyword('/parameters', parameters);
    if (invalid) return invalidTool(invalid.pointer, invalid.message);
    return { ok: true, value: { ...common, parameters: parameters as ArgumentsSchema, notes: new Map() } };
  }
  const names = new Set<string>();
  for (const [index, { name: param }] of parameters.entries()) {
    if (names.has(param)) return invalidTool(`/parameters/${index}/name`, `is declared twice: "${param}"`);
    names.add(param);
  }
  const mismatches = parameters.flatMap(findEnumMismatches);
  if (mismatches.length > 0) return { ok: false, errors: mismatches };
  const invalidItems = parameters.flatMap(
    ({ items }, index) => findInvalidKeyword(`/parameters/${index}/items`, items ?? {}) ?? [],
  );
  if (invalidItems.length > 0) return { ok: false, errors: invalidItems };
  const notes = new Map(parameters.map((param) => [param.name, param]));
  return { ok: true, value: { ...common, parameters: toArgumentsSchema(parameters), notes } };
}

type Params = Extract<ToolDeclaration['parameters'], readonly unknown[]>;

const isParamList = (parameters: ToolDeclaration['parameters']): parameters is Params => Array.isArray(parameters);

// A valid argument can never equal an enum value of another type.
function findEnumMismatches({ type, enum: values = [] }: Params[number], param: number): SchemaError[] {
  return values.flatMap((value, index) => {
    if (hasJsonType(value, type)) return [];
    const message = `must be of the parameter's type ${type}, not ${JSON.stringify(value)}`;
    return [{ pointer: `/parameters/${param}/enum/${index}`, message }];
  });
}

// Checks only the keywords that this server reads (properties, required, items); the others are only put into the prompt.
function findInvalidKeyword(rootPointer: string, root: Readonly<Record<string, unknown>>): SchemaError | undefined {
  const todo: [pointer: string, schema: Readonly<Record<string, unknown>>][] = [[rootPointer, root]];
  for (const [pointer, { properties, required, items }] of todo) {
    if (isObject(items)) todo.push([`${pointer}/items`, items]);
    if (properties === undefined && pointer !== '/parameters') continue;
    if (properties !== undefined && !isObject(properties)) {
      return { pointer: `${pointer}/properties`, message: 'must be an object of JSON Schemas' };
    }
    for (const [name, schema] of Object.entries(properties ?? {})) {
      const propertyPointer = `${pointer}/properties${escapePointerToken(name)}`;
      if (isObject(schema)) todo.push([propertyPointer, schema]);
      else if (pointer === '/parameters') return { pointer: propertyPointer, message: 'must be a JSON Schema' };
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

// Keys in the order that model families were trained on; absent ones are omitted.
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
  const required = params.filter(({ required: isRequired = true }) => isRequired).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as NonNullable<ArgumentsSchema['properties']>,
    ...(required.length > 0 && { required }),
  };
}
