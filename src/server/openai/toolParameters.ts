import { isObject } from '../../base/jsonTypes.ts';

/**
 * A function's schema without what says nothing to a model: `$schema`, and `additionalProperties` false, which holds for
 * calls anyway. Clients write both into every schema, and small models take them for parameters.
 */
export function toolParameters(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toolParameters);
  if (!isObject(schema)) return schema;
  // Without properties, it is what says that there are none.
  const isClosed = schema['properties'] !== undefined;
  const members = Object.entries(schema).filter(
    ([keyword, value]) => keyword !== '$schema' && !(keyword === 'additionalProperties' && value === false && isClosed),
  );
  return Object.fromEntries(members.map(([keyword, value]) => [keyword, inside(keyword, value)]));
}

const schemaMaps = new Set(['properties', '$defs', 'definitions']);
const schemaKeywords = new Set(['items', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'additionalProperties']);

function inside(keyword: string, value: unknown): unknown {
  if (schemaMaps.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, toolParameters(schema)]));
  return schemaKeywords.has(keyword) ? toolParameters(value) : value;
}
