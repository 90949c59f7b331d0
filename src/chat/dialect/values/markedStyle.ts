import { memoized } from '../../../base/memoized.ts';
import { all, any, anyOf, type Rule } from '../../grammar/rule.ts';
import { type RepetitionLimits, type RuleStyle, number } from '../../grammar/jsonRules.ts';
import type { ParameterLayout } from '../layout.ts';
import { literalRule } from '../marks.ts';

/** What the rule style of the values of parameters is made of. */
export interface ValueRules {
  /** Style of a whole value without the marks around it. */
  readonly value: Omit<RuleStyle, 'any' | 'nested'>;
  /** Style of the items and members in it. */
  readonly nested: RuleStyle;
}

/** The rule style of values with the marks of a layout around them. */
export function markedStyle(layout: ParameterLayout, { value, nested }: ValueRules): RuleStyle {
  const inString = memoized(around(layout.string));
  const inOther = memoized(around(layout.other));
  const style: RuleStyle = {
    boolean: inOther(value.boolean),
    null: inOther(value.null),
    nested,
    string: (limits) => inString(value.string(limits)),
    formatted: (content) => inString(value.formatted(content)),
    number: (rule) => inOther(value.number(rule)),
    list: (item, limits) => inOther(value.list(item, limits)),
    object: (members) => inOther(value.object(members)),
    any: knownByDepth((depth) => anyValue(style, depth)),
    anyObject: (depth) => inOther(value.anyObject(depth)),
    values(values) {
      const strings = values.filter((item) => typeof item === 'string');
      const others = values.filter((item) => typeof item !== 'string');
      return anyOf([
        ...(strings.length > 0 ? [inString(value.values(strings))] : []),
        ...(others.length > 0 ? [inOther(value.values(others))] : []),
      ]);
    },
    problemOf: (content) => value.problemOf?.(content),
  };
  return style;
}

/** Any value in a style with lists and objects nested at most `depth` deep. */
export const anyValue = (style: RuleStyle, depth: number): Rule =>
  any(
    style.string({ min: 0 }),
    style.number(number()),
    style.boolean,
    style.null,
    ...(depth > 0 ? [style.list(style.nested.any(depth - 1), { min: 0 }), style.anyObject(depth - 1)] : []),
  );

/** A function of a depth that returns the same result for the same depth. */
export function knownByDepth(create: (depth: number) => Rule): (depth: number) => Rule {
  const results = new Map<number, Rule>();
  return (depth) => {
    const result = results.get(depth) ?? create(depth);
    results.set(depth, result);
    return result;
  };
}

/** A function of limits that returns the same result for the same limits. */
export function knownByLimits(create: (limits: RepetitionLimits) => Rule): (limits: RepetitionLimits) => Rule {
  const results = new Map<string, Rule>();
  return (limits) => {
    const key = `${limits.min} ${limits.max}`;
    const result = results.get(key) ?? create(limits);
    if (results.size >= maxKnownLimits) results.clear();
    results.set(key, result);
    return result;
  };
}

const maxKnownLimits = 1000;

const around =
  ({ open, close }: ParameterLayout['string']) =>
  (rule: Rule): Rule =>
    all(...(open === '' ? [] : [literalRule(open)]), rule, ...(close === '' ? [] : [literalRule(close)]));
