import type { JsonRule, ManyRule, Member, Rule } from './rule.ts';
import { all, any, anyOf, char, list, many, object, optional, text } from './rule.ts';
import { memoized, memoizedByKey } from '../../base/memoized.ts';
import { stringifyJson } from '../json/value.ts';

// Fits a 64-bit integer: clients would read longer numbers as other ones, or not at all.
const maxDigits = 18;

/** Inclusive limits of a number, integers themselves; absent: none. */
export interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
}

const digit = char('0-9');
const fraction = optional(all(text('.'), many(digit, { min: 1, max: maxDigits })));

/** A JSON integer within limits, of at most 18 digits. */
export const integer = withSign(natural, 1);

/** A JSON number within limits, without exponent, with at most 18 digits before and after the point. */
export const number = withSign(decimal, 0);

/** The rule of numbers within limits; one rule without limits. @param least the smallest number after a minus. */
function withSign(unsigned: (min: number, max: number) => Rule, least: 0 | 1): (bounds?: NumberBounds) => Rule {
  const between = (min: number, max: number): Rule => {
    const negative = min < 0 ? [all(text('-'), unsigned(Math.max(least, -max), -min))] : [];
    const nonNegative = max >= 0 ? [unsigned(Math.max(0, min), max)] : [];
    return any(...negative, ...nonNegative);
  };
  const unlimited = between(-Infinity, Infinity);
  return ({ min = -Infinity, max = Infinity } = {}) =>
    min === -Infinity && max === Infinity ? unlimited : between(min, max);
}

/** A number that is not negative, with an optional fraction. */
function decimal(min: number, max: number): Rule {
  if (max === Infinity) return all(natural(min, max), fraction);
  const maxWithoutFraction = natural(max, max);
  return max > min ? any(all(natural(min, max - 1), fraction), maxWithoutFraction) : maxWithoutFraction;
}

/** An integer that is not negative. */
function natural(min: number, max: number): Rule {
  if (max !== Infinity) return any(...between(String(min), String(max)));
  const longerThan = (digits: number): Rule => all(char('1-9'), many(digit, { min: digits, max: maxDigits - 1 }));
  if (min === 0) return any(text('0'), longerThan(0));
  if (min === 1) return longerThan(0);
  const digitCount = String(min).length;
  return any(...between(String(min), '9'.repeat(digitCount)), longerThan(digitCount));
}

/** Alternatives for the integers from `low` to `high`, both in digits; those with fewer digits first. */
function between(low: string, high: string): Rule[] {
  if (low.length < high.length)
    return [...between(low, '9'.repeat(low.length)), ...between(`1${'0'.repeat(low.length)}`, high)];
  const [lowFirst = '', highFirst = ''] = [low[0], high[0]];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (lowRest === '') return [digitRange(lowFirst, highFirst)];
  if (lowFirst === highFirst) return [all(text(lowFirst), any(...between(lowRest, highRest)))];
  const zeros = '0'.repeat(lowRest.length);
  const nines = '9'.repeat(lowRest.length);
  // First digits after which the other digits are free.
  const freeFrom = lowRest === zeros ? lowFirst : addToDigit(lowFirst, 1);
  const freeTo = highRest === nines ? highFirst : addToDigit(highFirst, -1);
  const freeDigits = many(digit, { min: zeros.length, max: zeros.length });
  return [
    ...(lowRest === zeros ? [] : [all(text(lowFirst), any(...between(lowRest, nines)))]),
    ...(freeFrom <= freeTo ? [all(digitRange(freeFrom, freeTo), freeDigits)] : []),
    ...(highRest === nines ? [] : [all(text(highFirst), any(...between(zeros, highRest)))]),
  ];
}

const digitRange = (first: string, last: string): Rule => (first === last ? text(first) : char(`${first}-${last}`));
const addToDigit = (digitText: string, step: 1 | -1): string => String(Number(digitText) + step);

const hex = char('0-9', 'a-f', 'A-F');
const twoDigits = many(hex, { min: 2, max: 2 });

/** The digits after `\u`: no surrogate, or a whole surrogate pair, for half of one is no character. */
export const hexCodePoint = any(
  all(char('0-9', 'a-c', 'e-f', 'A-C', 'E-F'), many(hex, { min: 3, max: 3 })),
  all(char('d', 'D'), char('0-7'), twoDigits),
  all(char('d', 'D'), char('8-9', 'a-b', 'A-B'), twoDigits, text('\\u'), char('d', 'D'), char('c-f', 'C-F'), twoDigits),
);

/** A character of a JSON string, as itself or escaped. */
const character = any(
  {
    kind: 'char',
    ranges: [
      [0x20, 0x21],
      [0x23, 0x5b],
      [0x5d, 0xd7ff],
      [0xe000, 0x10ffff],
    ],
  },
  all(text('\\'), any(char('"', '\\', 'b', 'f', 'n', 'r', 't'), all(text('u'), hexCodePoint))),
);

const quoted = (rule: Rule): Rule => all(text('"'), rule, text('"'));

export const anyString = quoted(many(character, { min: 0 }));

const string = onceForLimits((limits) =>
  limits.min === 0 && limits.max === undefined ? anyString : quoted(many(character, limits)),
);

/** Any JSON value with lists and objects nested at most `depth` deep. */
export const json = (depth: number): JsonRule => ({ kind: 'json', depth });

/** Any JSON object whose values have lists and objects nested at most `depth` deep. */
const jsonObject = (depth: number): Rule =>
  all(text('{'), many(all(anyString, text(': '), json(depth)), { min: 0, separator: ', ' }), text('}'));

/** The rule for any JSON value, written out by one level. */
export const expandJsonRule = memoizedByKey(
  ({ depth }: JsonRule) => depth,
  ({ depth }) => any(...scalarRules, ...(depth > 0 ? [list(json(depth - 1)), jsonObject(depth - 1)] : [])),
);

/** Nesting of lists and objects in a value that its schema leaves open. */
export const defaultJsonDepth = 3;
const scalarRules: readonly Rule[] = [anyString, number(), text('true'), text('false'), text('null')];

export type RepetitionLimits = Pick<ManyRule, 'min' | 'max'>;

/** A function that makes one rule for equal limits, which a grammar then has once. */
export function onceForLimits(create: (limits: RepetitionLimits) => Rule): (limits: RepetitionLimits) => Rule {
  return memoizedByKey(({ min, max }) => `${min} ${max}`, create);
}

/** How the rules of values are written: JSON, or the notation of a tool-call format. */
export interface RuleStyle {
  readonly boolean: Rule;
  readonly null: Rule;
  /** Style of the items of lists and of the members of objects; absent: the same. */
  readonly nested?: RuleStyle;
  /** A string with a limited number of characters. The same rule for the same limits. */
  string(limits: RepetitionLimits): Rule;
  /** A string whose characters match a rule. The same rule for the same one. */
  formatted(content: Rule): Rule;
  /** A number in JSON, with what this style has around it. */
  number(rule: Rule): Rule;
  list(item: Rule, limits: RepetitionLimits): Rule;
  object(members: readonly Member[]): Rule;
  /** Any value with lists and objects nested at most `depth` deep. The same rule for the same depth. */
  any(depth: number): Rule;
  /** Any object whose values have lists and objects nested at most `depth` deep. */
  anyObject(depth: number): Rule;
  /** One of these values (plain data), at least one. */
  values(values: readonly unknown[]): Rule;
  /** Why this style cannot write a key or a string, as the end of a sentence; undefined: it can. */
  problemOf?(content: string): string | undefined;
}

/** JSON, spaced as `stringifyJson` does it. */
export const jsonStyle: RuleStyle = {
  // The same rules everywhere, so that a grammar has them once.
  boolean: anyOf([text('true'), text('false')]),
  null: text('null'),
  string,
  formatted: memoized(quoted),
  number: (rule) => rule,
  list,
  object,
  any: json,
  anyObject: jsonObject,
  values: (values) => anyOf([...new Set(values.map(stringifyJson))].map(text)),
};
