import { stringFormats } from './stringFormats.ts';
import { freeDepth, json, jsonObject } from '../anyJson.ts';
import { integer, number, type Limits } from '../numbers.ts';
import { any, list, object, text, type ManyRule, type Rule } from '../rule.ts';
import type { JsonSchema, SchemaPlace } from './schemaCursor.ts';
import { string } from '../strings.ts';

/** The rule for a schema within a schema. */
export type RuleOf = (schema: unknown, place: SchemaPlace) => Rule;

/** How a schema of one type becomes a rule. */
interface TypeForm {
  /** The keywords that it heeds beside `type`. */
  readonly keywords: readonly string[];
  rule(schema: JsonSchema, place: SchemaPlace, ruleOf: RuleOf): Rule;
}

/** The types of JSON Schema by name. */
export const typeForms: Readonly<Record<string, TypeForm>> = {
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
const mostRepeats = 256;

function stringRule(schema: JsonSchema, place: SchemaPlace): Rule {
  const { format } = schema;
  if (format === undefined) return string(repeats(schema, 'minLength', 'maxLength', place));
  for (const keyword of ['minLength', 'maxLength']) {
    if (schema[keyword] !== undefined) place.refuseKeyword(keyword, 'which a grammar cannot hold to beside "format"');
  }
  const known = `it knows ${[...stringFormats.keys()].join(', ')}`;
  return (
    stringFormats.get(String(format)) ??
    place.refuseKeyword('format', `of which a grammar does not know ${JSON.stringify(format)}; ${known}`)
  );
}

function arrayRule(schema: JsonSchema, place: SchemaPlace, ruleOf: RuleOf): Rule {
  const { items, uniqueItems = false } = schema;
  if (uniqueItems !== false) place.refuseKeyword('uniqueItems');
  if (Array.isArray(items))
    return place.refuseKeyword('items', 'and a list of schemas is nothing that a grammar can express');
  const item = items === undefined ? json(freeDepth - 1) : ruleOf(items, place.in('items'));
  return list(item, repeats(schema, 'minItems', 'maxItems', place));
}

function objectRule(schema: JsonSchema, place: SchemaPlace, ruleOf: RuleOf): Rule {
  const { properties, required = [], additionalProperties: others = true } = schema;
  if (typeof others !== 'boolean')
    return place.refuseKeyword('additionalProperties', 'and a schema there is nothing that a grammar can express');
  const declared = Object.entries((properties ?? {}) as JsonSchema);
  const names = Array.isArray(required) ? required.map(String) : [];
  const missing = names.find((name) => !declared.some(([key]) => key === name));
  if (missing !== undefined) return place.refuseKeyword('required', `and names "${missing}", which is not declared`);
  if (properties === undefined && others) return jsonObject(freeDepth - 1);
  return object(
    declared.map(([key, property]) => ({
      key,
      rule: ruleOf(property, place.in('properties', key)),
      required: names.includes(key),
    })),
  );
}

function repeats(
  schema: JsonSchema,
  lower: string,
  upper: string,
  place: SchemaPlace,
): Pick<ManyRule, 'least' | 'most'> {
  const { [lower]: least = 0, [upper]: most } = schema;
  if (!isCount(least) || least > mostRepeats)
    place.refuseKeyword(lower, `which must be a number from 0 to ${mostRepeats} for a grammar`);
  if (most !== undefined && !(isCount(most) && most >= Number(least)))
    place.refuseKeyword(upper, `which must be a number not below "${lower}"`);
  return { least: Number(least), ...(most !== undefined && { most: Number(most) }) };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

function integerRule(schema: JsonSchema, place: SchemaPlace): Rule {
  const [above, below] = [limitOf(schema, 'exclusiveMinimum', place), limitOf(schema, 'exclusiveMaximum', place)];
  const least = Math.max(Math.ceil(limitOf(schema, 'minimum', place) ?? -Infinity), Math.floor(above ?? -Infinity) + 1);
  const most = Math.min(Math.floor(limitOf(schema, 'maximum', place) ?? Infinity), Math.ceil(below ?? Infinity) - 1);
  return within({ least, most }, place, integer);
}

function numberRule(schema: JsonSchema, place: SchemaPlace): Rule {
  const [least = -Infinity, most = Infinity] = ['minimum', 'maximum'].map((keyword) => {
    const limit = limitOf(schema, keyword, place);
    if (limit !== undefined && !Number.isInteger(limit))
      place.refuseKeyword(keyword, 'which a grammar can only hold to when it is a whole number');
    return limit;
  });
  return within({ least, most }, place, number);
}

function within({ least, most }: Required<Limits>, place: SchemaPlace, rule: (limits: Limits) => Rule): Rule {
  if (least > most) return place.refuse(`leaves no number between ${least} and ${most}`);
  return rule({ least, most });
}

// Numbers are written with so few digits that limits beyond hold anyway.
const beyond = 1e18;

function limitOf(schema: JsonSchema, keyword: string, place: SchemaPlace): number | undefined {
  const { [keyword]: limit } = schema;
  if (limit === undefined || (typeof limit === 'number' && Math.abs(limit) >= beyond)) return undefined;
  if (typeof limit === 'number' && Math.abs(limit) <= Number.MAX_SAFE_INTEGER) return limit;
  place.refuseKeyword(keyword, 'which must be a number that can be told exactly');
  return undefined;
}
