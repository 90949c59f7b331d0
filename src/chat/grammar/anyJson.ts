import { all, any, list, many, text, type JsonRule, type Rule } from './rule.ts';
import { number } from './numbers.ts';
import { anyString } from './strings.ts';

/** Any JSON value with lists and objects nested at most `depth` deep. */
export const json = (depth: number): JsonRule => ({ kind: 'json', depth });

/** Any JSON object whose values have lists and objects nested at most `depth` deep. */
export const jsonObject = (depth: number): Rule =>
  all(text('{'), many(all(anyString, text(': '), json(depth)), { min: 0, separator: ', ' }), text('}'));

/** The rule for any JSON value, written out by one level. */
export function expandJsonRule({ depth }: JsonRule): Rule {
  const known = valueRulesByDepth.get(depth);
  if (known) return known;
  const value = any(...scalarRules, ...(depth > 0 ? [list(json(depth - 1)), jsonObject(depth - 1)] : []));
  valueRulesByDepth.set(depth, value);
  return value;
}

const valueRulesByDepth = new Map<number, Rule>();

/** Nesting of lists and objects in a value that its schema leaves open. */
export const defaultJsonDepth = 3;

const scalarRules: readonly Rule[] = [anyString, number(), text('true'), text('false'), text('null')];
