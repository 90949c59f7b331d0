import { stringFormats } from './stringFormats.ts';
import { defaultJsonDepth } from '../anyJson.ts';
import { integer, number, type NumberBounds } from '../numbers.ts';
import type { ManyRule, Rule } from '../rule.ts';
import type { JsonSchema, SchemaCursor } from './schemaCursor.ts';
import { maxCopiedRepetitions } from '../size.ts';

/** Compiles a subschema. */
type CompileSchema = (schema: unknown, cursor: SchemaCursor) => Rule;

/** Compiler of schemas of one type. */
interface TypeRule {
  /** The supported keywords, in addition to `type`. */
  readonly keywords: readonly string[];
  rule(schema: JsonSchema, cursor: SchemaCursor, compile: CompileSchema): Rule;
}

/** The compilers of schemas, by JSON Schema type. */
export const typeRules: Readonly<Record<string, TypeRule>> = {
  string: { keywords: ['minLength', 'maxLength', 'format'], rule: stringRule },
  integer: { keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], rule: integerRule },
  number: { keywords: ['minimum', 'maximum'], rule: numberRule },
  boolean: { keywords: [], rule: (_schema, { style }) => style.boolean },
  null: { keywords: [], rule: (_schema, { style }) => style.null },
  array: { keywords: ['items', 'minItems', 'maxItems', 'uniqueItems'], rule: arrayRule },
  object: { keywords: ['properties', 'required', 'additionalProperties'], rule: objectRule },
};

/** The types of a schema: its `type`, else the type that its keywords imply. */
export function typesOf(schema: JsonSchema): readonly string[] {
  const { type } = schema;
  if (type !== undefined) return [...new Set([type].flat().map(String))];
  if (schema['properties'] !== undefined) return ['object'];
  return schema['items'] !== undefined ? ['array'] : [];
}

// Bounds the size of a grammar: a minimum is written out once for each count.
const maxRepetitions = maxCopiedRepetitions;

function stringRule(schema: JsonSchema, cursor: SchemaCursor): Rule {
  const { format } = schema;
  if (format === undefined) return cursor.style.string(lengthBounds(schema, 'minLength', 'maxLength', cursor));
  for (const keyword of ['minLength', 'maxLength']) {
    if (schema[keyword] !== undefined)
      cursor.addKeywordError(keyword, 'which a grammar cannot hold to together with "format"');
  }
  const known = `it knows ${[...stringFormats.keys()].join(', ')}`;
  const content = stringFormats.get(String(format));
  return content
    ? cursor.style.formatted(content)
    : cursor.child('format').addError(`is ${JSON.stringify(format)}, which a grammar does not know; ${known}`);
}

function arrayRule(schema: JsonSchema, cursor: SchemaCursor, compile: CompileSchema): Rule {
  const { items, uniqueItems = false } = schema;
  if (uniqueItems !== false) cursor.addKeywordError('uniqueItems');
  if (Array.isArray(items))
    return cursor.child('items').addError('is a list of schemas, which a grammar cannot express');
  const { style } = cursor;
  const item = items === undefined ? style.nested.any(defaultJsonDepth - 1) : compile(items, cursor.nested('items'));
  return style.list(item, lengthBounds(schema, 'minItems', 'maxItems', cursor));
}

function objectRule(schema: JsonSchema, cursor: SchemaCursor, compile: CompileSchema): Rule {
  const { properties, required = [], additionalProperties = true } = schema;
  if (typeof additionalProperties !== 'boolean')
    return cursor.child('additionalProperties').addError('is a schema, which a grammar cannot express');
  const declaredMembers = Object.entries((properties ?? {}) as JsonSchema);
  const { style } = cursor;
  if (!cursor.hasRoomFor(declaredMembers.length)) return style.object([]);
  const requiredNames = new Set(Array.isArray(required) ? required.map(String) : []);
  const declaredNames = new Set(declaredMembers.map(([key]) => key));
  const undeclared = [...requiredNames].find((name) => !declaredNames.has(name));
  if (undeclared !== undefined)
    cursor.child('required').addError(`names ${JSON.stringify(undeclared)}, which is not declared in "properties"`);
  if (properties === undefined && additionalProperties) return style.anyObject(defaultJsonDepth - 1);
  for (const [key] of declaredMembers) {
    const problem = style.problemOf?.(key);
    if (problem !== undefined) cursor.child('properties', key).addError(`has a name that ${problem}`);
  }
  return style.object(
    declaredMembers.map(([key, property]) => ({
      key,
      rule: compile(property, cursor.nested('properties', key)),
      required: requiredNames.has(key),
    })),
  );
}

function lengthBounds(
  schema: JsonSchema,
  lower: string,
  upper: string,
  cursor: SchemaCursor,
): Pick<ManyRule, 'min' | 'max'> {
  const { [lower]: min = 0, [upper]: max } = schema;
  if (!isCount(min) || min > maxRepetitions)
    cursor.addKeywordError(lower, `which must be a number from 0 to ${maxRepetitions} for a grammar`);
  if (max !== undefined && !(isCount(max) && max >= Number(min)))
    cursor.addKeywordError(upper, `which must be a number not below "${lower}"`);
  return { min: Number(min), ...(max !== undefined && { max: Number(max) }) };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

function integerRule(schema: JsonSchema, cursor: SchemaCursor): Rule {
  const [exclusiveMin, exclusiveMax] = [
    readBound(schema, 'exclusiveMinimum', cursor),
    readBound(schema, 'exclusiveMaximum', cursor),
  ];
  const min = Math.max(
    Math.ceil(readBound(schema, 'minimum', cursor) ?? -Infinity),
    Math.floor(exclusiveMin ?? -Infinity) + 1,
  );
  const max = Math.min(
    Math.floor(readBound(schema, 'maximum', cursor) ?? Infinity),
    Math.ceil(exclusiveMax ?? Infinity) - 1,
  );
  return checkBounds({ min, max }, cursor, integer);
}

function numberRule(schema: JsonSchema, cursor: SchemaCursor): Rule {
  const [min = -Infinity, max = Infinity] = ['minimum', 'maximum'].map((keyword) => {
    const bound = readBound(schema, keyword, cursor);
    if (bound !== undefined && !Number.isInteger(bound))
      cursor.addKeywordError(keyword, 'which a grammar can only hold to when it is a whole number');
    return bound;
  });
  return checkBounds({ min, max }, cursor, number);
}

function checkBounds(
  { min, max }: Required<NumberBounds>,
  cursor: SchemaCursor,
  rule: (bounds: NumberBounds) => Rule,
): Rule {
  if (min > max) return cursor.addError(`leaves no number between ${min} and ${max}`);
  return cursor.style.number(rule({ min, max }));
}

// Generated numbers have at most 18 digits, so bounds beyond always hold.
const maxBound = 1e18;

function readBound(schema: JsonSchema, keyword: string, cursor: SchemaCursor): number | undefined {
  const { [keyword]: bound } = schema;
  if (bound === undefined || (typeof bound === 'number' && Math.abs(bound) >= maxBound)) return undefined;
  if (typeof bound === 'number' && Math.abs(bound) <= Number.MAX_SAFE_INTEGER) return bound;
  cursor.addKeywordError(keyword, 'which must be a number of at most 2^53 - 1');
  return undefined;
}
