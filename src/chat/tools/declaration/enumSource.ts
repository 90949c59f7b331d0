import { escapePointerToken, pointerTokens } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { EnumSource, Tool } from '../../tool.ts';

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
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema);
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === token ? replaceAt(member, rest, values) : member]),
  );
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
