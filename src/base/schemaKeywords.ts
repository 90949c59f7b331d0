import { escapePointerToken } from './jsonPointer.ts';
import { isObject } from './jsonTypes.ts';

/** The keywords of JSON Schema that hold alternatives for the same value. */
export const branchKeywords: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/** The keywords that hold a list of schemas; `items` may also hold one schema. */
const listKeywords: ReadonlySet<string> = new Set([...branchKeywords, 'prefixItems', 'items']);

export const namedKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

const schemaKeywords: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
]);

/** The only values that a schema allows; undefined: it has neither `const` nor `enum`. */
export const allowedValues = (schema: Readonly<Record<string, unknown>>): readonly unknown[] | undefined =>
  'const' in schema ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : undefined;

/** The facts of a parameter that are no keywords of JSON Schema: only turngraph knows them. */
export const ownFacts = ['source', 'significance', 'hidden', 'precedence', 'enum_from'] as const;

/** A keyword's value, its schemas mapped. @param map gets a schema, its pointer, and its name if it has one. */
export function mapSchemas(
  keyword: string,
  value: unknown,
  map: (schema: unknown, pointer: string, name?: string) => unknown,
): unknown {
  const pointer = escapePointerToken(keyword);
  if (Array.isArray(value) && listKeywords.has(keyword))
    return value.map((schema: unknown, index) => map(schema, `${pointer}/${index}`));
  if (isObject(value) && namedKeywords.has(keyword))
    return Object.fromEntries(
      Object.entries(value).map(([name, schema]) => [name, map(schema, pointer + escapePointerToken(name), name)]),
    );
  return schemaKeywords.has(keyword) ? map(value, pointer) : value;
}
