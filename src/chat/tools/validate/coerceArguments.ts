import type { Tool } from '../../tool.ts';
import { alternativeFor, resolvedParameters, type ResolvedSchema } from '../resolvedSchema.ts';
import type { JsonObject, JsonValue } from '../../json/value.ts';
import { isJsonObject, isList, isOfType, stringifyJson, JsonNumber } from '../../json/value.ts';

/** Arguments as a flat JSON object whose values are all strings; values of other types are JSON in a string. */
export const argumentsAsStrings = (args: JsonObject): string =>
  stringifyJson(
    new Map([...args].map(([name, value]) => [name, typeof value === 'string' ? value : stringifyJson(value)])),
  );

/** Type coercion: converts argument values to the declared types where that loses nothing. */
export const coerceArguments = (args: JsonObject, tool: Tool | undefined): JsonObject =>
  tool ? coerceObject(args, resolvedParameters(tool)) : args;

function coerceObject(members: JsonObject, schema: ResolvedSchema): JsonObject {
  const { properties } = alternativeFor(members, schema);
  return new Map([...members].map(([name, value]) => [name, coerce(value, properties?.get(name) ?? {})]));
}

// The declared type that the value already has, else the first one to which it can be converted without loss.
function coerce(value: JsonValue, schema: ResolvedSchema): JsonValue {
  const { type: types = schema.anyOf?.flatMap(({ type = [] }) => type) ?? [] } = schema;
  const ownType = types.find((type) => isOfType(value, type));
  if (ownType !== undefined) return coerceTo(ownType, value, schema);
  return types.map((type) => coerceTo(type, value, schema)).find((coerced) => coerced !== value) ?? value;
}

function coerceTo(type: string, value: JsonValue, schema: ResolvedSchema): JsonValue {
  switch (type) {
    case 'integer':
      return toInteger(value) ?? value;
    case 'number':
      return typeof value === 'string' && isNumber(value) ? new JsonNumber(value) : value;
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : value;
    case 'string':
      return value instanceof JsonNumber || typeof value === 'boolean' ? stringifyJson(value) : value;
    case 'array':
      return isList(value) ? value.map((item) => coerce(item, alternativeFor(value, schema).items ?? {})) : value;
    case 'object':
      return isJsonObject(value) ? coerceObject(value, schema) : value;
    default:
      return value;
  }
}

const isNumber = (text: string): boolean => /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);

// 3.0 is the integer 3; 3.5 is no integer.
function toInteger(value: JsonValue): JsonNumber | undefined {
  const digits = value instanceof JsonNumber ? value.digits : typeof value === 'string' ? value : '';
  const [, whole] = /^(-?(?:0|[1-9]\d*))(?:\.0+)?$/.exec(digits) ?? [];
  return whole === undefined ? undefined : new JsonNumber(whole);
}
