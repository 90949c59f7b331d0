import type { ArgumentsSchema, Tool, WrittenCall } from '../tool.ts';
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

/** Part of a JSON Schema. */
type Schema = NonNullable<ArgumentsSchema['properties']>[string];

/**
 * A tool as a line of text, `- name(param: type, other?: type): description`, and an indented line for each of its parameters
 * that has a description.
 */
export function toolSignature({ name, description, parameters }: Tool): string {
  const described = Object.entries(parameters.properties ?? {}).flatMap(([param, { description: text }]) =>
    typeof text === 'string' && text !== '' ? [`    ${param}: ${text}`] : [],
  );
  return [`- ${name}(${fieldsOf(parameters)}): ${description}`, ...described].join('\n');
}

const fieldsOf = ({ properties = {}, required }: ArgumentsSchema | Schema): string =>
  Object.entries(properties as Readonly<Record<string, unknown>>)
    .map(([name, schema]) => `${name}${isRequired(name, required) ? '' : '?'}: ${typeText(schema)}`)
    .join(', ');

const isRequired = (name: string, required: unknown): boolean => Array.isArray(required) && required.includes(name);

// A list shows its items, an object its fields, an enum its values.
function typeText(schema: unknown): string {
  if (!isSchema(schema)) return 'any';
  if (Array.isArray(schema['enum'])) return schema['enum'].join('|');
  const types: readonly unknown[] = [schema.type ?? 'any'].flat();
  return types
    .map((type) => {
      if (type === 'array' && isSchema(schema['items'])) return `[${typeText(schema['items'])}]`;
      if (type === 'object' && isSchema(schema['properties'])) return `{${fieldsOf(schema)}}`;
      return String(type);
    })
    .join('|');
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;
