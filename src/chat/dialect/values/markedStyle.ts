import { memoized, memoizedByKey } from '../../../base/memoized.ts';
import { all, any, anyOf, type Rule, text } from '../../grammar/rule.ts';
import { type RuleStyle, number } from '../../grammar/jsonRules.ts';
import type { ParameterLayout } from '../layout.ts';
import { literalRule } from '../marks.ts';

/** What the rule style of the values of parameters is made of. */
export interface ValueRules {
  /** Style of a whole value without the marks around it. */
  readonly value: Omit<RuleStyle, 'any' | 'boolean' | 'nested' | 'null'>;
  /** Style of the items and members in it. */
  readonly nested: RuleStyle;
}

/** The rule style of values with the marks of a layout around them. */
export function markedStyle(layout: ParameterLayout, { value, nested }: ValueRules): RuleStyle {
  const inString = memoized(around(layout.string));
  const inOther = memoized(around(layout.other));
  const style: RuleStyle = {
    boolean: inOther(booleanRule(layout.style)),
    null: inOther(text(layout.style.null)),
    nested,
    string: (limits) => inString(value.string(limits)),
    formatted: (content) => inString(value.formatted(content)),
    number: (rule) => inOther(value.number(rule)),
    list: (item, limits) => inOther(value.list(item, limits)),
    object: (members) => inOther(value.object(members)),
    any: onceForDepth((depth) => anyValue(style, depth)),
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

export const booleanRule = (style: ParameterLayout['style']): Rule => anyOf([text(style.true), text(style.false)]);

/** Any value in a style with lists and objects nested at most `depth` deep. */
export const anyValue = (style: RuleStyle, depth: number): Rule =>
  any(
    style.string({ min: 0 }),
    style.number(number()),
    style.boolean,
    style.null,
    ...(depth > 0 ? [style.list((style.nested ?? style).any(depth - 1), { min: 0 }), style.anyObject(depth - 1)] : []),
  );

/** A function that makes one rule for a depth, which a grammar then has once. */
export const onceForDepth = (create: (depth: number) => Rule): ((depth: number) => Rule) =>
  memoizedByKey((depth) => depth, create);

const around =
  ({ open, close }: ParameterLayout['string']) =>
  (rule: Rule): Rule =>
    all(...(open === '' ? [] : [literalRule(open)]), rule, ...(close === '' ? [] : [literalRule(close)]));
