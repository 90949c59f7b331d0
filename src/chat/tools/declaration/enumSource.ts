import { hasJsonType, isObject, tryParseJson } from '../../../base/jsonTypes.ts';
import type { EnumSource, Tool } from '../../tool.ts';
import { escapePointerToken, pointerTokens } from '../../../base/jsonPointer.ts';

/** The types of parameters whose values a list can name. */
export const enumTypes = ['string', 'integer', 'number'] as const satisfies readonly EnumSource['types'][number][];

const isEnumType = (type: unknown): type is EnumSource['types'][number] =>
  (enumTypes as readonly unknown[]).includes(type);

/** The types that a schema names, if a list can name values of each; else undefined. */
export function enumTypesOf(type: unknown): EnumSource['types'] | undefined {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types.length > 0 && types.every(isEnumType) ? types : undefined;
}

/** The tool with the values of each source as the `enum` of its parameter, which stands where `enum_from` stood. */
export function withEnums(tool: Tool, values: ReadonlyMap<EnumSource, readonly unknown[]>): Tool {
  const parameters = [...values].reduce<unknown>(
    (schema, [{ pointer }, list]) => replaceAt(schema, pointerTokens(pointer), list),
    tool.parameters,
  );
  return { ...tool, parameters: parameters as Tool['parameters'] };
}

/** A tool as it is in some turn: each source has one value. Whether a grammar can express it does not depend on the value. */
export function withSampleEnums(tool: Tool): Tool {
  const { enumSources = [] } = tool;
  if (enumSources.length === 0) return tool;
  return withEnums(tool, new Map(enumSources.map((source) => [source, [source.types[0] === 'string' ? 'a' : 1]])));
}

function replaceAt(schema: unknown, [token, ...rest]: readonly string[], values: readonly unknown[]): unknown {
  if (token === undefined) return isObject(schema) ? withValues(schema, values) : schema;
  if (Array.isArray(schema))
    return schema.map((item: unknown, index) => (String(index) === token ? replaceAt(item, rest, values) : item));
  if (!isObject(schema) || !Object.hasOwn(schema, token)) return schema;
  return { ...schema, [token]: replaceAt(schema[token], rest, values) };
}

const withValues = (schema: Readonly<Record<string, unknown>>, values: readonly unknown[]): object =>
  Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => (keyword === 'enum_from' ? ['enum', values] : [keyword, value])),
  );

/** The pointer into the parameters of a tool for one into their declaration, which is a list or a JSON Schema. */
export function schemaPointer(declared: string, list: readonly string[] | undefined): string {
  if (!list) return declared;
  const [index = '', ...rest] = pointerTokens(declared);
  return ['properties', list[Number(index)] ?? '', ...rest].map(escapePointerToken).join('');
}

// A longer list fits into no prompt of a small model.
const maxValues = 1000;
const maxCharacters = 32_768;

/** The values of a parameter, or what is wrong with the text that has them: the end of a sentence about it, with a fix. */
export type EnumReading =
  { readonly ok: true; readonly values: readonly unknown[] } | { readonly ok: false; readonly problem: string };

/** Reads the values of a parameter from the text of a variable: a JSON list; equal values count once. */
export function readEnumValues(text: string | undefined, { types }: Pick<EnumSource, 'types'>): EnumReading {
  const fix = `send it with the message as a JSON list of ${types.map((type) => `${type}s`).join(' or ')}`;
  if (text === undefined) return failed(`is missing; ${fix}`);
  if (text.length > maxCharacters)
    return failed(`has ${text.length} characters, and ${maxCharacters} are allowed; send fewer or shorter values`);
  const list = tryParseJson(text);
  if (!Array.isArray(list)) return failed(`is no JSON list; ${fix}`);
  // Nothing to fix: the game has no value at the moment.
  if (list.length === 0) return failed('is an empty list');
  if (list.length > maxValues)
    return failed(`has ${list.length} values, and ${maxValues} are allowed; send fewer values`);
  for (const [index, value] of list.entries()) {
    const problem = problemOf(value, types);
    if (problem !== undefined) return failed(`has ${describe(value)} at index ${index}, which ${problem}; ${fix}`);
  }
  return { ok: true, values: [...new Set(list)] };
}

const failed = (problem: string): EnumReading => ({ ok: false, problem });

function problemOf(value: unknown, types: EnumSource['types']): string | undefined {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return 'is too large a number to be exact';
  if (!types.some((type) => hasJsonType(value, type))) return `is no ${types.join(' or ')}`;
  return typeof value === 'string' && /\p{Surrogate}/u.test(value) ? 'has half of a surrogate pair' : undefined;
}

function describe(value: unknown): string {
  // It may be nested deeper than JSON.stringify can follow.
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The pointer into a declaration for one into its parameters, which may be a list there: by index, not by name. */
export function declaredPointer(pointer: string, { origin = { pointer: '' } }: Tool): string {
  const place = `${origin.pointer}/parameters`;
  for (const [index, name] of (origin.list ?? []).entries()) {
    const property = `/properties${escapePointerToken(name)}`;
    if (`${pointer}/`.startsWith(`${property}/`)) return `${place}/${index}${pointer.slice(property.length)}`;
  }
  return place + pointer;
}
