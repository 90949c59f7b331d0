import type { Tool, WrittenCall } from '../tool.ts';
import { resolvedParameters, type ResolvedSchema } from '../tools/resolvedSchema.ts';
import { stringifyJson } from '../json/value.ts';

/** A tool as a function definition in OpenAI's form, which most model families were trained on. */
export const toFunctionDefinition = ({ name, description, parameters }: Tool) =>
  ({ type: 'function', function: { name, description, parameters } }) as const;

/** The function definition of a tool as JSON. */
export const functionJson = (tool: Tool): string => stringifyJson(toFunctionDefinition(tool));

/** A call as a JSON object, under the keys of a format. */
export const callJson = (
  { name, arguments: args }: WrittenCall,
  keys: { readonly name: string; readonly arguments: string },
  others: readonly (readonly [key: string, value: string])[] = [],
): string => stringifyJson(new Map<string, unknown>([[keys.name, name], [keys.arguments, args], ...others]));

/** A tool as `- name(param: type, other?: type): description`, and an indented line for each described parameter. */
export function toolSignature({ name, description, parameters }: Tool): string {
  const described = Object.entries(parameters.properties ?? {}).flatMap(([param, { description: text }]) =>
    typeof text === 'string' && text !== '' ? [`    ${param}: ${text}`] : [],
  );
  return [`- ${name}(${fieldsOf(resolvedParameters({ parameters }))}): ${description}`, ...described].join('\n');
}

// A schema may contain itself.
const maxShownDepth = 6;

const fieldsOf = ({ properties = new Map(), required }: ResolvedSchema, depth = 0): string =>
  [...properties]
    .map(([name, schema]) => `${name}${required?.has(name) ? '' : '?'}: ${typeText(schema, depth)}`)
    .join(', ');

// A list shows its items, an object its fields, an enum its values.
function typeText(schema: ResolvedSchema, depth: number): string {
  const { type: types = ['any'], enum: values, properties, items, anyOf } = schema;
  if (values) return values.join('|');
  if (anyOf) return [...new Set(anyOf.map((each) => typeText(each, depth)))].join('|');
  return types
    .map((type) => {
      if (type === 'array' && items && depth < maxShownDepth) return `[${typeText(items, depth + 1)}]`;
      if (type === 'object' && properties && depth < maxShownDepth) return `{${fieldsOf(schema, depth + 1)}}`;
      return type;
    })
    .join('|');
}
