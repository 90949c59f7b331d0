import type { JsonValue } from '../../json/value.ts';
import { literalRule, type ParameterLayout, type ParameterMarks, type ValueStyle } from '../layout.ts';
import type { SearchedText } from '../../markSearch.ts';
import type { ResolvedSchema } from '../../tools/resolvedSchema.ts';
import { memoized, memoizedByKey } from '../../../base/memoized.ts';
import { all, any, anyOf, text, type Rule } from '../../grammar/rule.ts';
import { number, type RuleStyle } from '../../grammar/jsonRules.ts';

export interface ValuePosition {
  readonly source: SearchedText;
  /** Index of the first character after the parameter's key: the mark before the value comes first. */
  readonly start: number;
  readonly layout: ParameterLayout;
  /** Schema of the parameter; undefined: the tool or the parameter is unknown. */
  readonly schema: ResolvedSchema | undefined;
  /** Whether null, without quotes, is no text: the parameter is not required, or null by default. */
  readonly mayBeNull: boolean;
  /** Names of the parameters that may follow: declared, and not read yet. */
  readonly nextKeys: ReadonlySet<string>;
  /** The first mark after the last parameter, by which a reader knows where an unclosed value ends; "" = none. */
  readonly after: string;
}

export interface ValueRead {
  readonly ok: true;
  readonly value: JsonValue;
  /** Index after the mark that closes the value. */
  readonly end: number;
  /** Whether a mark was missing or the value was malformed but readable. */
  readonly repaired: boolean;
}

export interface MalformedValue {
  readonly ok: false;
  /** Whether the text ends inside the value. */
  readonly truncated: boolean;
}

/** Notation of the parameter values of a call: one file each. */
export interface ValueNotation {
  readonly name: string;
  /** Whether values between these marks can be in this notation. A template proves which of several it is. */
  explains(marks: ParameterMarks): boolean;
  /** Reads the value of a parameter with the marks around it. Never throws; takes linear time in the value's length. */
  read(position: ValuePosition): ValueRead | MalformedValue;
  /** A value without the marks around it, as the template writes it; takes plain data, too. */
  spell(value: unknown, style: ValueStyle): string;
  /** How a grammar writes values without the marks around them. */
  rules(layout: ParameterLayout): RuleStyle;
}

/** The rule style of values with the marks of a layout around them. */
export function markedStyle(layout: ParameterLayout, value: RuleStyle): RuleStyle {
  const inString = memoized(around(layout.string));
  const inOther = memoized(around(layout.other));
  const style: RuleStyle = {
    boolean: inOther(booleanRule(layout.style)),
    null: inOther(text(layout.style.null)),
    nested: value.nested ?? value,
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
