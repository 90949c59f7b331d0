import type { ReadResult } from '../../../protocol/schema.ts';
import { hasJsonType, isObject, jsonTypeOf, type JsonSchema } from '../../../base/jsonTypes.ts';
import { defaultJsonDepth, json, type RuleStyle } from '../jsonRules.ts';
import { anyOf, type CallGrammar, type Rule } from '../rule.ts';
import { SchemaCursor } from './schemaCursor.ts';
import { typeRules, typesOf } from './types.ts';
import { memoized } from '../../../base/memoized.ts';
import { allowedValues } from '../../../base/schemaKeywords.ts';
import { stringifyJson } from '../../json/value.ts';

/** The grammar of a whole answer that matches a rule. */
export const answerGrammar = (rule: Rule): CallGrammar => ({ kind: 'full', rule, answer: true });

/**
 * Compiles a JSON Schema to a grammar rule. Every text that matches the rule is valid: what no grammar can express is an
 * error, with a pointer into the schema. Not every valid text matches: members that are not declared, exponents and
 * numbers of more than 18 digits are never generated.
 * @param style how values are written; JSON if absent.
 */
export function ruleFromSchema(schema: unknown, style?: RuleStyle): ReadResult<Rule> {
  const cursor = SchemaCursor.root(schema, style);
  const rule = compileSchema(schema, cursor);
  return cursor.errors.length === 0 ? { ok: true, value: rule } : { ok: false, errors: cursor.errors };
}

const maxSchemaDepth = 32;

const annotations: ReadonlySet<string> = new Set(
  'title description default examples deprecated readOnly writeOnly $schema $id $comment $defs definitions'.split(' '),
);

/** The keywords that restrict values. */
const constraintsOf = (schema: JsonSchema): readonly string[] =>
  Object.keys(schema).filter((key) => !annotations.has(key) && !key.startsWith('x-'));

const compileSchema = (schema: unknown, cursor: SchemaCursor): Rule => cursor.compile(() => ruleAt(schema, cursor));

function ruleAt(schema: unknown, cursor: SchemaCursor): Rule {
  if (schema === true) return cursor.style.any(defaultJsonDepth);
  if (!isObject(schema)) return cursor.addError('is no schema that a value could fit');
  if (cursor.depth > maxSchemaDepth) return cursor.addError(`is nested deeper than ${maxSchemaDepth} levels`);
  const constraints = constraintsOf(schema);
  const choice = choiceKeywords.find((keyword) => constraints.includes(keyword));
  if (choice) {
    const hasType = choice !== '$ref' && choice !== 'allOf';
    for (const other of constraints) {
      if (other !== choice && !(hasType && other === 'type'))
        cursor.addKeywordError(other, `which a grammar cannot hold to together with "${choice}"`);
    }
    return choices[choice](schema, cursor);
  }
  const types = typesOf(schema);
  if (types.length === 0) {
    const [keyword] = constraints;
    return keyword === undefined ? cursor.style.any(defaultJsonDepth) : cursor.addKeywordError(keyword);
  }
  const rules = types.map(
    (type) =>
      typeRules.get(type)?.rule(schema, cursor, compileSchema) ??
      cursor.child('type').addError(`is no type: "${type}"`),
  );
  // Those of other types restrict nothing. An integer is a number.
  const restricts = (type: string): boolean => types.includes(type === 'integer' ? 'number' : type);
  const supported = new Set(['type', ...types.flatMap((type) => typeRules.get(type)?.keywords ?? [])]);
  for (const [type, { keywords }] of typeRules)
    if (!restricts(type)) for (const keyword of keywords) supported.add(keyword);
  for (const keyword of constraints) if (!supported.has(keyword)) cursor.addKeywordError(keyword);
  return anyOf(rules);
}

// A schema is one of them; a type may stand next to values and branches.
const choiceKeywords = ['$ref', 'allOf', 'const', 'enum', 'anyOf', 'oneOf'] as const;

const choices: Readonly<Record<(typeof choiceKeywords)[number], (schema: JsonSchema, cursor: SchemaCursor) => Rule>> = {
  $ref({ $ref: reference }, cursor) {
    const target = cursor.target(reference);
    return target ? compileSchema(...target) : json(0);
  },
  allOf({ allOf }, cursor) {
    const isOne = Array.isArray(allOf) && allOf.length === 1;
    return isOne ? compileSchema(allOf[0], cursor.child('allOf', 0)) : cursor.addKeywordError('allOf');
  },
  const: (schema, cursor) => valuesRule([schema['const']], schema, cursor.child('const')),
  enum: (schema, cursor) => valuesRule(schema['enum'], schema, cursor.child('enum')),
  anyOf: (schema, cursor) => branchesRule('anyOf', schema, cursor),
  oneOf(schema, cursor) {
    // First, because it bounds the size of what is compared.
    const rule = branchesRule('oneOf', schema, cursor);
    const branches = schema['oneOf'];
    if (cursor.isStopped || !Array.isArray(branches)) return rule;
    const { type } = schema;
    const referred = branches.map((branch: unknown) => {
      if (isObject(branch) && '$ref' in branch) return cursor.target(branch['$ref'])?.[0];
      return isObject(branch) && type !== undefined ? { type, ...branch } : branch;
    });
    if (areDisjoint(referred)) return rule;
    return cursor.addKeywordError(
      'oneOf',
      'whose branches a grammar cannot keep apart; use anyOf, or give each another type or value',
    );
  },
};

function valuesRule(values: unknown, schema: JsonSchema, cursor: SchemaCursor): Rule {
  if (Array.isArray(values) && !cursor.hasRoomFor(values.length)) return json(0);
  const types = typesOf(schema);
  const allowed = (Array.isArray(values) ? values : []).filter(
    (value) => types.length === 0 || types.some((type) => hasJsonType(value, type)),
  );
  if (allowed.length === 0) return cursor.addError('has no value that could be given');
  for (const value of allowed) {
    const problem = typeof value === 'string' ? cursor.style.problemOf?.(value) : undefined;
    if (problem !== undefined) return cursor.addError(`has a value that ${problem}`);
  }
  return cursor.checkSize(cursor.style.values(allowed));
}

// A type next to the branches applies to each of them.
function branchesRule(keyword: 'anyOf' | 'oneOf', schema: JsonSchema, cursor: SchemaCursor): Rule {
  const branches = schema[keyword];
  if (!Array.isArray(branches) || branches.length === 0) return cursor.child(keyword).addError('has no branches');
  if (!cursor.hasRoomFor(branches.length)) return json(0);
  const { type } = schema;
  return anyOf(
    branches.map((branch: unknown, index) => {
      const branchCursor = cursor.child(keyword, index);
      if (type === undefined) return compileSchema(branch, branchCursor);
      const typed = branch === true ? {} : branch;
      if (!isObject(typed)) return compileSchema(branch, branchCursor);
      const { type: branchType = type } = typed;
      return branchType === type
        ? compileSchema({ ...typed, type }, branchCursor)
        : branchCursor.addError(`has another type than the schema that has "${keyword}"`);
    }),
  );
}

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

function isDisjointPair(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return false;
  const [featuresA, featuresB] = [featuresOf(a), featuresOf(b)];
  const [valuesA, valuesB] = [featuresA.values, featuresB.values];
  if (valuesA && valuesB) return ![...valuesA].some((value) => valuesB.has(value));
  const overlap = overlapOf(featuresA.types, featuresB.types);
  if (overlap !== objectBit) return overlap === 0;
  return [...featuresA.required].some(
    (name) => featuresB.required.has(name) && isDisjointPair(propertyOf(a, name), propertyOf(b, name)),
  );
}

function areDisjointInGroups(schemas: readonly unknown[]): boolean {
  const all = schemas.filter(isObject).map(featuresOf);
  if (all.length < schemas.length) return false;
  const valued = all.filter(({ values }) => values);
  const allValues = valued.flatMap(({ values = [] }) => [...values]);
  if (new Set(allValues).size < allValues.length) return false;
  const counts = new Map<number, number>();
  for (const { types, values } of all) if (!values) counts.set(types, (counts.get(types) ?? 0) + 1);
  // There are few different values of `types`.
  const countOverlapping = (types: number): number =>
    [...counts].reduce((sum, [other, count]) => sum + (overlapOf(types, other) === 0 ? 0 : count), 0);
  if (valued.some(({ types }) => countOverlapping(types) > 0)) return false;
  return haveDiscriminator(all.filter(({ types, values }) => !values && countOverlapping(types) > 1));
}

/** Whether a property that all schemas require tells each from each. */
function haveDiscriminator(schemas: readonly ReturnType<typeof featuresOf>[]): boolean {
  const [first] = schemas;
  if (!first) return true;
  return [...first.required].some(
    (name) =>
      schemas.every(({ required, types }) => required.has(name) && (types & anyBits) === objectBit) &&
      areDisjoint(schemas.map(({ schema }) => propertyOf(schema, name))),
  );
}

/** What tells a schema apart from others. Once: it is compared with many. */
const featuresOf = memoized((schema: JsonSchema) => {
  const values = allowedValues(schema);
  const written = bitsOf(values ? values.map(jsonTypeOf) : typesOf(schema));
  return {
    schema,
    /** The only values that it allows, as JSON; undefined: it has neither `const` nor `enum`. */
    values: values && new Set(values.map(stringifyJson)),
    /** The types of the values that a grammar writes, as bits, and in higher bits of those that match: all, if none is declared. */
    types: written | ((values || schema['type'] !== undefined ? written : anyBits) << 8),
    required: new Set(Array.isArray(schema['required']) ? schema['required'].map(String) : []),
  };
});

const typeNames = ['string', 'number', 'boolean', 'null', 'array', 'object'];
const anyBits = 127;
const objectBit = 64;

// Every integer matches "number", so the two types are not disjoint. An unknown type is an error already.
const bitsOf = (types: readonly string[]): number =>
  types.reduce((bits, type) => bits | (1 << (typeNames.indexOf(type === 'integer' ? 'number' : type) + 1)), 0) ||
  anyBits;

/** The types of the values that match two schemas and are written for one of them. */
const overlapOf = (a: number, b: number): number => ((a & (b >> 8)) | (b & (a >> 8))) & anyBits;

const propertyOf = (schema: JsonSchema, name: string): unknown =>
  (schema['properties'] as JsonSchema | undefined)?.[name];
