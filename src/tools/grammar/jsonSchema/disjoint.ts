import { isObject } from '../../../jsonTypes.ts';
import type { JsonSchema } from './schemaCursor.ts';
import { stringifyJson } from '../../json/value.ts';
import { typesOf } from './types.ts';

/** Whether no value can match two of these schemas, as far as their types, constants and enums show. */
export const areDisjoint = (schemas: readonly unknown[]): boolean =>
  schemas.every((a, index) => schemas.slice(index + 1).every((b) => isDisjointPair(a, b)));

function isDisjointPair(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return false;
  const [valuesA, valuesB] = [valuesOf(a), valuesOf(b)];
  if (valuesA && valuesB) return haveNoneInCommon(valuesA, valuesB);
  const [typesA, typesB] = [comparableTypes(a, valuesA), comparableTypes(b, valuesB)];
  if (typesA.length > 0 && typesB.length > 0 && haveNoneInCommon(typesA, typesB)) return true;
  return requiredOf(a).some(
    (name) => requiredOf(b).includes(name) && isDisjointPair(propertyOf(a, name), propertyOf(b, name)),
  );
}

/** The only values that a schema allows; undefined: it has neither `const` nor `enum`. */
function valuesOf(schema: JsonSchema): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

// Every integer matches "number", so the two types are not disjoint.
const comparableTypes = (schema: JsonSchema, values: readonly unknown[] | undefined): readonly string[] =>
  (values ? values.map(typeOfValue) : typesOf(schema)).map((type) => (type === 'integer' ? 'number' : type));

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function haveNoneInCommon(a: readonly unknown[], b: readonly unknown[]): boolean {
  const texts = new Set(b.map(stringifyJson));
  return a.every((value) => !texts.has(stringifyJson(value)));
}

const requiredOf = (schema: JsonSchema): readonly string[] =>
  Array.isArray(schema['required']) ? schema['required'].map(String) : [];

const propertyOf = (schema: JsonSchema, name: string): unknown =>
  (schema['properties'] as JsonSchema | undefined)?.[name];
