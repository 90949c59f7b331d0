import { stringFormats } from './stringFormats.ts';
import { defaultJsonDepth, json, jsonObject } from '../anyJson.ts';
import { integer, number, type NumberBounds } from '../numbers.ts';
import { any, list, object, text, type ManyRule, type Rule } from '../rule.ts';
import type { JsonSchema, SchemaCursor } from './schemaCursor.ts';
import { string } from '../strings.ts';

/** The rule for a schema within a schema. */
export type RuleOf = (schema: unknown, place: SchemaCursor) => Rule;

/** How a schema of one type becomes a rule. */
interface TypeRule {
  /** The keywords that it heeds beside `type`. */
  readonly keywords: readonly string[];
  rule(schema: JsonSchema, place: SchemaCursor, ruleOf: RuleOf): Rule;
}

/** The types of JSON Schema by name. */
export const typeRules: Readonly<Record<string, TypeRule>> = {
  string: { keywords: ['minLength', 'maxLength', 'format'], rule: stringRule },
  integer: { keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], rule: integerRule },
  number: { keywords: ['minimum', 'maximum'], rule: numberRule },
  boolean: { keywords: [], rule: () => any(text('true'), text('false')) },
  null: { keywords: [], rule: () => text('null') },
  array: { keywords: ['items', 'minItems', 'maxItems', 'uniqueItems'], rule: arrayRule },
  object: { keywords: ['properties', 'required', 'additionalProperties'], rule: objectRule },
};

/** The types that a schema names, or that its keywords are made for. */
export function typesOf(schema: JsonSchema): readonly string[] {
  const { type } = schema;
  if (type !== undefined) return [type].flat().map(String);
  if (schema['properties'] !== undefined) return ['object'];
  return schema['items'] !== undefined ? ['array'] : [];
}

/** Whether a value is of a type. */
export function valueFits(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

// As many as a grammar can count.
const maxRepeats = 256;

function stringRule(schema: JsonSchema, place: SchemaCursor): Rule {
  const { format } = schema;
  if (format === undefined) return string(lengthBounds(schema, 'minLength', 'maxLength', place));
  for (const keyword of ['minLength', 'maxLength']) {
    if (schema[keyword] !== undefined) place.addKeywordError(keyword, 'which a grammar cannot hold to beside "format"');
  }
  const known = `it knows ${[...stringFormats.keys()].join(', ')}`;
  return (
    stringFormats.get(String(format)) ??
    place.addKeywordError('format', `of which a grammar does not know ${JSON.stringify(format)}; ${known}`)
  );
}

function arrayRule(schema: JsonSchema, place: SchemaCursor, ruleOf: RuleOf): Rule {
  const { items, uniqueItems = false } = schema;
  if (uniqueItems !== false) place.addKeywordError('uniqueItems');
  if (Array.isArray(items))
    return place.addKeywordError('items', 'and a list of schemas is nothing that a grammar can express');
  const item = items === undefined ? json(defaultJsonDepth - 1) : ruleOf(items, place.child('items'));
  return list(item, lengthBounds(schema, 'minItems', 'maxItems', place));
}

function objectRule(schema: JsonSchema, place: SchemaCursor, ruleOf: RuleOf): Rule {
  const { properties, required = [], additionalProperties: others = true } = schema;
  if (typeof others !== 'boolean')
    return place.addKeywordError('additionalProperties', 'and a schema there is nothing that a grammar can express');
  const declared = Object.entries((properties ?? {}) as JsonSchema);
  const names = Array.isArray(required) ? required.map(String) : [];
  const missing = names.find((name) => !declared.some(([key]) => key === name));
  if (missing !== undefined) return place.addKeywordError('required', `and names "${missing}", which is not declared`);
  if (properties === undefined && others) return jsonObject(defaultJsonDepth - 1);
  return object(
    declared.map(([key, property]) => ({
      key,
      rule: ruleOf(property, place.child('properties', key)),
      required: names.includes(key),
    })),
  );
}

function lengthBounds(
  schema: JsonSchema,
  lower: string,
  upper: string,
  place: SchemaCursor,
): Pick<ManyRule, 'min' | 'max'> {
  const { [lower]: min = 0, [upper]: max } = schema;
  if (!isCount(min) || min > maxRepeats)
    place.addKeywordError(lower, `which must be a number from 0 to ${maxRepeats} for a grammar`);
  if (max !== undefined && !(isCount(max) && max >= Number(min)))
    place.addKeywordError(upper, `which must be a number not below "${lower}"`);
  return { min: Number(min), ...(max !== undefined && { max: Number(max) }) };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

function integerRule(schema: JsonSchema, place: SchemaCursor): Rule {
  const [above, below] = [readBound(schema, 'exclusiveMinimum', place), readBound(schema, 'exclusiveMaximum', place)];
  const min = Math.max(Math.ceil(readBound(schema, 'minimum', place) ?? -Infinity), Math.floor(above ?? -Infinity) + 1);
  const max = Math.min(Math.floor(readBound(schema, 'maximum', place) ?? Infinity), Math.ceil(below ?? Infinity) - 1);
  return checkBounds({ least: min, most: max }, place, integer);
}

function numberRule(schema: JsonSchema, place: SchemaCursor): Rule {
  const [min = -Infinity, max = Infinity] = ['minimum', 'maximum'].map((keyword) => {
    const limit = readBound(schema, keyword, place);
    if (limit !== undefined && !Number.isInteger(limit))
      place.addKeywordError(keyword, 'which a grammar can only hold to when it is a whole number');
    return limit;
  });
  return checkBounds({ least: min, most: max }, place, number);
}

function checkBounds(
  { least: min, most: max }: Required<NumberBounds>,
  place: SchemaCursor,
  rule: (limits: NumberBounds) => Rule,
): Rule {
  if (min > max) return place.addError(`leaves no number between ${min} and ${max}`);
  return rule({ least: min, most: max });
}

// Numbers are written with so few digits that limits beyond hold anyway.
const maxBound = 1e18;

function readBound(schema: JsonSchema, keyword: string, place: SchemaCursor): number | undefined {
  const { [keyword]: limit } = schema;
  if (limit === undefined || (typeof limit === 'number' && Math.abs(limit) >= maxBound)) return undefined;
  if (typeof limit === 'number' && Math.abs(limit) <= Number.MAX_SAFE_INTEGER) return limit;
  place.addKeywordError(keyword, 'which must be a number that can be told exactly');
  return undefined;
}
