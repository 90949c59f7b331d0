import type { StepBudget } from '../stepBudget.ts';
import { itemOf } from '../operations/subscript.ts';
import { stringOf } from '../values/coercion.ts';
import { type Value } from '../values/values.ts';

/**
 * A function that reads an attribute of an item, as filters name it: `a.b.0`, or an index.
 * @param fallback in place of an undefined attribute.
 */
export function attributeReader(attribute: Value, budget: StepBudget): (item: Value) => Value {
  const path = typeof attribute === 'number' ? [attribute] : stringOf(attribute).split('.');
  const keys = path.map((part) => (typeof part === 'string' && /^\d+$/.test(part) ? Number(part) : part));
  return (item) => keys.reduce<Value>((value, key) => itemOf(value, key, budget), item);
}

/** A function that makes texts comparable without their case, unless it matters. */
export const caseFolder =
  (isCaseSensitive: boolean) =>
  (value: Value): Value =>
    typeof value === 'string' && !isCaseSensitive ? value.toLowerCase() : value;
