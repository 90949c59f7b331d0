import { stringifyJson } from '../../json/value.ts';
import { json, jsonObject } from '../anyJson.ts';
import { anyOf, list, object, text, type ManyRule, type Member, type Rule } from '../rule.ts';
import { quoted, string } from '../strings.ts';

/** Limits of a repetition. */
export type RepetitionLimits = Pick<ManyRule, 'min' | 'max'>;

/** How the rules of values are written: JSON, or the notation of a tool-call format. */
export interface RuleStyle {
  readonly boolean: Rule;
  readonly null: Rule;
  /** Style of the items of lists and of the members of objects. */
  readonly nested: RuleStyle;
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
  get nested() {
    return jsonStyle;
  },
  string,
  formatted: memoized(quoted),
  number: (rule) => rule,
  list,
  object,
  any: json,
  anyObject: jsonObject,
  values: (values) => anyOf([...new Set(values.map(stringifyJson))].map(text)),
};

/** A function of a rule that returns the same result for the same rule. */
export function memoized<T extends object>(create: (rule: Rule) => T): (rule: Rule) => T {
  const results = new WeakMap<Rule, T>();
  return (rule) => {
    const result = results.get(rule) ?? create(rule);
    results.set(rule, result);
    return result;
  };
}
