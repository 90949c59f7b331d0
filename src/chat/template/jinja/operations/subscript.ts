import type { StepBudget } from '../stepBudget.ts';
import { methodOf } from './methods.ts';
import { integerOf, orUndefined, requireDefined, sizeOf } from '../values/coercion.ts';
import { Dict, Loop, Namespace, Tuple, Undefined, View, typeName, type Value } from '../values/values.ts';

/** `object.name`: a method, else an entry of a dict. @throws Error for an undefined object. */
export function attributeOf(value: Value, name: string): Value {
  const object = requireDefined(value);
  const attribute = ownAttribute(object, name);
  if (attribute !== undefined) return attribute;
  const method = methodOf(object, name);
  if (method) return method;
  const entry = object instanceof Dict ? object.get(name) : undefined;
  return orUndefined(entry, `'${typeName(object)} object' has no attribute '${name}'`);
}

/** `object[key]`: an entry of a dict, an item of a list or text, else an attribute. @throws Error for an undefined object. */
export function itemOf(value: Value, key: Value, budget: StepBudget): Value {
  const object = requireDefined(value);
  const item = ownItem(object, key, budget);
  if (item !== undefined) return item;
  if (typeof key !== 'string') return new Undefined(`${typeName(object)} object has no such element`);
  return object instanceof Dict
    ? (methodOf(object, key) ?? new Undefined(`'dict object' has no attribute '${key}'`))
    : attributeOf(object, key);
}

function ownAttribute(object: Value, name: string): Value | undefined {
  if (object instanceof Namespace) return object.attributes.get(name);
  return object instanceof Loop ? object.attribute(name) : undefined;
}

function ownItem(object: Value, key: Value, budget: StepBudget): Value | undefined {
  if (object instanceof Dict) {
    budget.spend(sizeOf(key));
    // A key that cannot be looked up is not in the dict.
    return Array.isArray(key) || key instanceof Dict || key instanceof Tuple ? undefined : object.get(key);
  }
  if (typeof key !== 'number' && typeof key !== 'boolean') return undefined;
  return indexable(object, budget)?.at(Number(key));
}

/** The items of a value that has indices. */
function indexable(object: Value, budget: StepBudget): readonly Value[] | undefined {
  if (Array.isArray(object)) return object;
  if (object instanceof Tuple || (object instanceof View && object.kind === 'range')) return object.items;
  if (typeof object !== 'string') return undefined;
  budget.spend(object.length);
  return [...object];
}

/**
 * `object[start:stop:step]`.
 * @throws Error for a value without indices, bounds that are no integers, a step of 0.
 */
export function sliceOf(value: Value, bounds: readonly (Value | undefined)[], budget: StepBudget): Value {
  const object = requireDefined(value);
  const [start, stop, step = 1] = bounds.map((bound) =>
    bound === undefined || bound === null ? undefined : integerOf(bound),
  );
  if (step === 0) throw new Error('slice step cannot be zero');
  budget.spend(1 + sizeOf(object));
  // Without surrogates, the code points are those of JavaScript.
  if (typeof object === 'string' && step === 1 && !/[\ud800-\udfff]/.test(object))
    return object.slice(start ?? 0, stop);
  const items = indexable(object, budget);
  if (!items) return new Undefined(`'${typeName(object)}' object cannot be sliced`);
  const sliced = step === 1 ? items.slice(start ?? 0, stop) : sliceItems(items, start, stop, step);
  if (typeof object === 'string') return sliced.join('');
  return Array.isArray(object) ? sliced : new Tuple(sliced);
}

function sliceItems<T>(items: readonly T[], start: number | undefined, stop: number | undefined, step: number): T[] {
  const [lowest, highest] = step > 0 ? [0, items.length] : [-1, items.length - 1];
  const position = (bound: number | undefined, fallback: number): number =>
    bound === undefined ? fallback : Math.min(highest, Math.max(lowest, bound < 0 ? bound + items.length : bound));
  const end = position(stop, step > 0 ? highest : lowest);
  const sliced: T[] = [];
  for (let index = position(start, step > 0 ? lowest : highest); step > 0 ? index < end : index > end; index += step)
    sliced.push(...items.slice(index, index + 1));
  return sliced;
}
