import { all, any, char, many, optional, type Rule, text } from '../rule.ts';
import { defaultJsonDepth, integer, number, type NumberBounds, type RepetitionLimits } from '../jsonRules.ts';
import type { JsonSchema } from '../../../base/jsonTypes.ts';
import type { SchemaCursor } from './schemaCursor.ts';
import { maxCopiedRepetitions } from '../size.ts';

type CompileSchema = (schema: unknown, cursor: SchemaCursor) => Rule;

interface TypeRule {
  /** The supported keywords, in addition to `type`. */
  readonly keywords: readonly string[];
  rule(schema: JsonSchema, cursor: SchemaCursor, compile: CompileSchema): Rule;
}

/** The compilers of schemas, by JSON Schema type. */
export const typeRules: ReadonlyMap<string, TypeRule> = new Map(
  Object.entries({
    string: { keywords: ['minLength', 'maxLength', 'format'], rule: stringRule },
    integer: { keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], rule: integerRule },
    number: { keywords: ['minimum', 'maximum'], rule: numberRule },
    boolean: { keywords: [], rule: (_schema, { style }) => style.boolean },
    null: { keywords: [], rule: (_schema, { style }) => style.null },
    array: { keywords: ['items', 'minItems', 'maxItems', 'uniqueItems'], rule: arrayRule },
    object: { keywords: ['properties', 'required', 'additionalProperties'], rule: objectRule },
  }),
);

/** The types of a schema: its `type`, else the type that its keywords imply. */
export function typesOf(schema: JsonSchema): readonly string[] {
  const { type } = schema;
  if (type !== undefined) {
    const types = [...new Set([type].flat().map(String))];
    // An integer is a number.
    return types.includes('number') ? types.filter((name) => name !== 'integer') : types;
  }
  if (schema['properties'] !== undefined) return ['object'];
  return schema['items'] !== undefined ? ['array'] : [];
}

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
  const item =
    items === undefined ? (style.nested ?? style).any(defaultJsonDepth - 1) : compile(items, cursor.nested('items'));
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

function lengthBounds(schema: JsonSchema, lower: string, upper: string, cursor: SchemaCursor): RepetitionLimits {
  const { [lower]: min = 0, [upper]: max } = schema;
  // Bounds the size of a grammar: a minimum is written out once for each count.
  if (!isCount(min) || min > maxCopiedRepetitions)
    cursor.addKeywordError(lower, `which must be a number from 0 to ${maxCopiedRepetitions} for a grammar`);
  if (max !== undefined && !(isCount(max) && max >= Number(min)))
    cursor.addKeywordError(upper, `which must be a number not below "${lower}"`);
  return { min: Number(min), ...(max !== undefined && { max: Number(max) }) };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

function integerRule(schema: JsonSchema, cursor: SchemaCursor): Rule {
  const bound = (keyword: string, absent: number): number => readBound(schema, keyword, cursor) ?? absent;
  const [above, below] = [bound('exclusiveMinimum', -Infinity), bound('exclusiveMaximum', Infinity)];
  const min = Math.max(Math.ceil(bound('minimum', -Infinity)), Math.floor(above) + 1);
  const max = Math.min(Math.floor(bound('maximum', Infinity)), Math.ceil(below) - 1);
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

// Generated numbers have at most 18 digits, so a bound beyond always holds, or never.
const maxBound = 1e18;

function readBound(schema: JsonSchema, keyword: string, cursor: SchemaCursor): number | undefined {
  const { [keyword]: bound } = schema;
  const sign = keyword === 'minimum' || keyword === 'exclusiveMinimum' ? -1 : 1;
  if (bound === undefined || (typeof bound === 'number' && sign * bound >= maxBound)) return undefined;
  if (typeof bound === 'number' && Math.abs(bound) <= Number.MAX_SAFE_INTEGER) return bound;
  cursor.addKeywordError(keyword, 'which must be a number of at most 2^53 - 1');
  return undefined;
}

const digit = char('0-9');
const digits = (count: number): Rule => many(digit, { min: count, max: count });
const hexes = (count: number): Rule => many(char('0-9', 'a-f', 'A-F'), { min: count, max: count });
const texts = (list: string): Rule => any(...list.split(' ').map(text));

const days = (last: Rule): Rule => any(all(text('0'), char('1-9')), all(char('1-2'), digit), last);
const upTo28 = any(all(text('0'), char('1-9')), all(text('1'), digit), all(text('2'), char('0-8')));
// The multiples of 4 whose first digit is odd: 12, 16, 32, 36, ...
const oddTens = all(char('1', '3', '5', '7', '9'), char('2', '6'));
const leapYear = any(
  all(digits(2), any(all(text('0'), char('4', '8')), all(char('2', '4', '6', '8'), char('0', '4', '8')), oddTens)),
  all(any(all(char('0', '2', '4', '6', '8'), char('0', '4', '8')), oddTens), text('00')),
);
const date = any(
  all(digits(4), text('-'), texts('01 03 05 07 08 10 12'), text('-'), days(texts('30 31'))),
  all(digits(4), text('-'), texts('04 06 09 11'), text('-'), days(text('30'))),
  all(digits(4), text('-02-'), upTo28),
  all(leapYear, text('-02-29')),
);

const minuteOrSecond = all(char('0-5'), digit);
const hour = any(all(char('0-1'), digit), all(text('2'), char('0-3')));
const fraction = optional(all(text('.'), many(digit, { min: 1, max: 9 })));
const offset = any(text('Z'), all(char('+', '-'), hour, text(':'), minuteOrSecond));
const time = all(hour, text(':'), minuteOrSecond, text(':'), minuteOrSecond, fraction, offset);
const uuid = all(hexes(8), text('-'), hexes(4), text('-'), hexes(4), text('-'), hexes(4), text('-'), hexes(12));
const alphanumerics = many(char('0-9', 'a-z', 'A-Z'), { min: 1, max: 24 });
const email = all(
  many(many(char('0-9', 'a-z', 'A-Z', '_', '+', '-'), { min: 1, max: 32 }), { min: 1, max: 2, separator: '.' }),
  text('@'),
  many(many(alphanumerics, { min: 1, max: 2, separator: '-' }), { min: 2, max: 4, separator: '.' }),
);

/** Formats of RFC 3339 (`date-time` with an offset) and RFC 4122, and ASCII email addresses, without quotes. */
const stringFormats: ReadonlyMap<string, Rule> = new Map(
  Object.entries({ date, time, 'date-time': all(date, text('T'), time), uuid, email }),
);
