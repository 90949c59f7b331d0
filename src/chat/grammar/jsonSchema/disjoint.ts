import { memoized } from '../../../base/memoized.ts';
import { isObject, type JsonSchema, jsonTypeOf } from '../../../base/jsonTypes.ts';
import { allowedValues } from '../../../base/schemaKeywords.ts';
import { stringifyJson } from '../../json/value.ts';
import { typesOf } from './types.ts';

/**
 * Whether no value can match two of these schemas, as far as their types, constants and enums show. Up to 32 schemas are
 * compared each with each. More are compared in linear time: by their values, by their types, and by one required
 * property that tells all those of a type apart.
 */
export function areDisjoint(schemas: readonly unknown[]): boolean {
  if (schemas.length > maxPairwise) return areDisjointInGroups(schemas);
  return schemas.every((a, index) => schemas.slice(index + 1).every((b) => isDisjointPair(a, b)));
}

const maxPairwise = 32;

/** What tells a schema apart from others. */
interface Features {
  readonly schema: JsonSchema;
  /** The only values that it allows, as JSON; undefined: it has neither `const` nor `enum`. */
  readonly values: ReadonlySet<string> | undefined;
  /** The types of its values, as bits; 0 = any. */
  readonly types: number;
  readonly required: ReadonlySet<string>;
}

function isDisjointPair(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return false;
  const [featuresA, featuresB] = [featuresOf(a), featuresOf(b)];
  if (featuresA.values && featuresB.values) return haveNoneInCommon(featuresA.values, featuresB.values);
  if (areDisjointTypes(featuresA.types, featuresB.types)) return true;
  return [...featuresA.required].some(
    (name) => featuresB.required.has(name) && isDisjointPair(propertyOf(a, name), propertyOf(b, name)),
  );
}

function haveNoneInCommon(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const [smaller, larger] = a.size < b.size ? [a, b] : [b, a];
  return [...smaller].every((value) => !larger.has(value));
}

function areDisjointInGroups(schemas: readonly unknown[]): boolean {
  const all = schemas.filter(isObject).map(featuresOf);
  if (all.length < schemas.length) return false;
  const valued = all.filter(({ values }) => values);
  const seen = new Set<string>();
  for (const { values = new Set<string>() } of valued) {
    for (const value of values) {
      if (seen.has(value)) return false;
      seen.add(value);
    }
  }
  const counts = new Map<number, number>();
  for (const { types, values } of all) if (!values) counts.set(types, (counts.get(types) ?? 0) + 1);
  // There are at most 128 different values of `types`.
  const isShared = (types: number): boolean => [...counts.keys()].some((other) => !areDisjointTypes(types, other));
  if ([...new Set(valued.map(({ types }) => types))].some(isShared)) return false;
  const overlapping = new Set(
    [...counts].flatMap(([types, count]) => {
      const isAlone =
        count === 1 && [...counts.keys()].every((other) => other === types || areDisjointTypes(types, other));
      return isAlone ? [] : [types];
    }),
  );
  return haveDiscriminator(all.filter(({ types, values }) => !values && overlapping.has(types)));
}

/** Whether a property that all schemas require tells each from each. */
function haveDiscriminator([first, ...others]: readonly Features[]): boolean {
  if (!first) return true;
  return [...first.required].some(
    (name) =>
      others.every(({ required }) => required.has(name)) &&
      areDisjoint([first, ...others].map(({ schema }) => propertyOf(schema, name))),
  );
}

// A schema is compared with many others.
const featuresOf = memoized((schema: JsonSchema): Features => {
  const values = allowedValues(schema);
  return {
    schema,
    values: values && new Set(values.map(stringifyJson)),
    types: (values ? values.map(jsonTypeOf) : typesOf(schema)).reduce((bits, type) => bits | typeBit(type), 0),
    required: new Set(Array.isArray(schema['required']) ? schema['required'].map(String) : []),
  };
});

const typeNames = ['string', 'number', 'boolean', 'null', 'array', 'object'];

// Every integer matches "number", so the two types are not disjoint. An unknown type is an error already.
const typeBit = (type: string): number => 1 << (typeNames.indexOf(type === 'integer' ? 'number' : type) + 1);

const areDisjointTypes = (a: number, b: number): boolean => a !== 0 && b !== 0 && (a & b) === 0;

const propertyOf = (schema: JsonSchema, name: string): unknown =>
  (schema['properties'] as JsonSchema | undefined)?.[name];
