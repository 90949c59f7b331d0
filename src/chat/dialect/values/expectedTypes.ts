import { isObject } from '../../../base/jsonTypes.ts';
import { isOfType, type JsonValue } from '../../json/value.ts';

/** The JSON Schema types of the values that a schema allows; undefined: any, or unknown. */
export function expectedTypes(schema: unknown, depth = 0): ReadonlySet<string> | undefined {
  if (!isObject(schema) || depth > maxBranchDepth) return undefined;
  const { type, nullable } = schema;
  const values = fixedValues(schema);
  if (values) return new Set(values.map(typeOf));
  if (type !== undefined) return new Set([...[type].flat().map(String), ...(nullable === true ? ['null'] : [])]);
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(branches)) return union(branches.map((branch) => expectedTypes(branch, depth + 1)));
  if (schema['properties'] !== undefined) return new Set(['object']);
  return schema['items'] === undefined ? undefined : new Set(['array']);
}

/** The strings that a schema allows, where it lists them. */
export function fixedStrings(schema: unknown): readonly string[] {
  const values = isObject(schema) ? fixedValues(schema) : undefined;
  return (values ?? []).filter((value) => typeof value === 'string');
}

/** Whether a value has one of these types. */
export const isExpected = (value: JsonValue, types: ReadonlySet<string>): boolean =>
  [...types].some((type) => isOfType(value, type));

const maxBranchDepth = 16;

function fixedValues(schema: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function union(types: readonly (ReadonlySet<string> | undefined)[]): ReadonlySet<string> | undefined {
  const all = new Set<string>();
  for (const some of types) {
    if (!some) return undefined;
    for (const type of some) all.add(type);
  }
  return all;
}
