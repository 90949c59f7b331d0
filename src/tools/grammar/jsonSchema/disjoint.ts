import type { JsonSchema } from './schemaCursor.ts';
import { stringifyJson } from '../../json/value.ts';
import { typesOf } from './types.ts';

/** Whether no value can fit two of these schemas, as far as types and single values tell. */
export const areDisjoint = (schemas: readonly unknown[]): boolean =>
  schemas.every((one, index) => schemas.slice(index + 1).every((other) => isDisjointPair(one, other)));

function isDisjointPair(one: unknown, other: unknown): boolean {
  if (!isSchema(one) || !isSchema(other)) return false;
  const [these, those] = [valuesOf(one), valuesOf(other)];
  if (these && those) return disjoint(these, those);
  const [types, others] = [kindsOf(one, these), kindsOf(other, those)];
  if (types.length > 0 && others.length > 0 && disjoint(types, others)) return true;
  return required(one).some(
    (name) => required(other).includes(name) && isDisjointPair(property(one, name), property(other, name)),
  );
}

const isSchema = (schema: unknown): schema is JsonSchema =>
  typeof schema === 'object' && schema !== null && !Array.isArray(schema);

function valuesOf(schema: JsonSchema): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

// An integer is a number, too.
const kindsOf = (schema: JsonSchema, values: readonly unknown[] | undefined): readonly string[] =>
  (values ? values.map(kindOf) : typesOf(schema)).map((type) => (type === 'integer' ? 'number' : type));

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function disjoint(these: readonly unknown[], those: readonly unknown[]): boolean {
  const texts = new Set(those.map(stringifyJson));
  return these.every((value) => !texts.has(stringifyJson(value)));
}

const required = (schema: JsonSchema): readonly string[] =>
  Array.isArray(schema['required']) ? schema['required'].map(String) : [];

const property = (schema: JsonSchema, name: string): unknown =>
  (schema['properties'] as JsonSchema | undefined)?.[name];
