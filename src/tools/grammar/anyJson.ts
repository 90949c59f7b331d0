import { all, any, list, many, text, type JsonRule, type Rule } from './rule.ts';
import { number } from './numbers.ts';
import { anyString } from './strings.ts';

/** Any JSON value in which at most so many lists and objects stand within each other. */
export const json = (depth: number): JsonRule => ({ kind: 'json', depth });

/** Any JSON object in which at most so many lists and objects stand within each other. */
export const jsonObject = (depth: number): Rule =>
  all(text('{'), many(all(anyString, text(': '), json(depth)), { min: 0, separator: ', ' }), text('}'));

/** What a rule for any JSON value stands for. */
export function expandJsonRule({ depth }: JsonRule): Rule {
  const known = valueRulesByDepth.get(depth);
  if (known) return known;
  const value = any(...scalarRules, ...(depth > 0 ? [list(json(depth - 1)), jsonObject(depth - 1)] : []));
  valueRulesByDepth.set(depth, value);
  return value;
}

// The same rule each time, for whoever remembers what was made of it.
const valueRulesByDepth = new Map<number, Rule>();
/** Lists and objects that may stand within each other where nothing is said of a value. */
export const defaultJsonDepth = 3;

const scalarRules: readonly Rule[] = [anyString, number(), text('true'), text('false'), text('null')];
