import { describeError } from '../protocol/fault.ts';
import { isObject } from '../base/jsonTypes.ts';
import { createReader, type FromSchema, type ReadResult, type SchemaError } from '../protocol/schema.ts';
import { readTool } from '../chat/tools/declaration/readTool.ts';
import { toolSchema } from '../chat/tools/declaration/toolSchema.ts';
import type { Tool } from '../chat/tool.ts';

const lineSchema = {
  type: 'object',
  required: ['text'],
  properties: {
    text: { type: 'string' },
    format: { type: 'string', minLength: 1 },
    template: { type: 'string', minLength: 1 },
    opened: { type: 'string' },
    tools: { type: 'array', items: {} },
    response_format: { type: 'object' },
    reasoning_format: { type: 'string', enum: ['none', 'auto', 'deepseek'] },
  },
} as const;

const readFields = createReader(lineSchema);

/** A line of `tools parse --jsonl`: the reply of a model, and what it is read by. */
export interface ReplyLine extends Omit<FromSchema<typeof lineSchema>, 'tools'> {
  /** The tools that were offered; undefined: unknown. */
  readonly tools?: readonly Tool[];
}

/**
 * Reads a line. Unknown fields are ignored.
 * @throws Error that names the line and the field.
 */
export function readReplyLine(line: string, number: number): ReplyLine {
  const reading = readFields(parseJson(line, number));
  if (!reading.ok) throw lineError(number, reading.errors);
  const { tools, ...fields } = reading.value;
  if (tools === undefined) return fields;
  const offered = tools.map((tool, index) => {
    const offer = below(`/tools/${index}`, readOfferedTool(tool));
    if (!offer.ok) throw lineError(number, offer.errors);
    return offer.value;
  });
  return { ...fields, tools: offered };
}

function parseJson(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(`line ${number} is no JSON: ${describeError(error)}`, { cause: error });
  }
}

const lineError = (number: number, errors: readonly SchemaError[]): Error =>
  new Error(errors.map(({ pointer, message }) => `line ${number}: ${pointer.slice(1) || 'it'} ${message}`).join('\n'));

const readDeclaration = createReader(toolSchema);

// A tool is given by its name, as graphs declare it, or as OpenAI does: { type: 'function', function: { name, ... } }.
function readOfferedTool(tool: unknown): ReadResult<Tool> {
  if (typeof tool === 'string') return readOfferedTool({ name: tool });
  if (!isObject(tool)) return invalid('', 'must be a name or an object');
  if (tool['function'] !== undefined) return below('/function', readOfferedTool(tool['function']));
  const { name, description = '', parameters } = tool;
  if (typeof name !== 'string' || name === '') return invalid('/name', 'must be a name');
  if (Array.isArray(parameters)) {
    const declaration = readDeclaration({ name, description, parameters });
    return declaration.ok ? readTool(declaration.value) : declaration;
  }
  if (!isObject(parameters ?? {})) return invalid('/parameters', 'must be a JSON Schema');
  const schema = { type: 'object', ...Object(parameters) } as const;
  return readTool({ name, description: String(description), parameters: schema, consequential: false });
}

const invalid = (pointer: string, message: string): ReadResult<Tool> => ({ ok: false, errors: [{ pointer, message }] });

const below = (parent: string, reading: ReadResult<Tool>): ReadResult<Tool> =>
  reading.ok
    ? reading
    : { ok: false, errors: reading.errors.map((error) => ({ ...error, pointer: parent + error.pointer })) };
