import type { StepBudget } from '../stepBudget.ts';
import type { PythonFunction, Value } from '../values/values.ts';
import { byName, Callable, Dict, Loop, Namespace, takes, Tuple, typeName, Undefined, View } from '../values/values.ts';
import { areEqual } from './operators.ts';
import { stringMethods } from './stringMethods.ts';
import { integerOf, iterate, orUndefined, requireDefined, sizeOf } from '../values/coercion.ts';

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

function indexable(object: Value, budget: StepBudget): readonly Value[] | undefined {
  if (Array.isArray(object)) return object;
  if (object instanceof Tuple || (object instanceof View && object.type === 'range')) return object.items;
  if (typeof object !== 'string') return undefined;
  budget.spend(object.length);
  return [...object];
}

/** `object[start:stop:step]`. @throws Error for a value without indices, bounds that are no integers, a step of 0. */
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

type Method<Subject> = PythonFunction<Subject, StepBudget>;

/** A method of a value, as a function; undefined where it has none of this name. */
function methodOf(value: Value, name: string): Callable | undefined {
  const bind = <Subject>(subject: Subject, methods: ReadonlyMap<string, Method<Subject>>): Callable | undefined => {
    const method = methods.get(name);
    if (!method) return undefined;
    return new Callable(name, (args, budget) => {
      budget.spend(1 + sizeOf(value));
      return method(subject, args, budget, name);
    });
  };
  if (typeof value === 'string') return bind(value, stringMethods);
  if (value instanceof Dict) return bind(value, dictMethods);
  if (Array.isArray(value)) return bind(value, listMethods);
  return value instanceof Tuple ? bind(value.items, sequenceMethods) : undefined;
}

const dictMethods = byName<Method<Dict>>({
  items: (dict) => new View('dict_items', dict.items()),
  keys: (dict) => new View('dict_keys', dict.keys()),
  values: (dict) => new View('dict_values', dict.values()),
  copy: (dict) => new Dict(dict.entries()),
  get: takes(['key', 'default?'], (dict, [key, fallback = null]) => {
    const value = dict.get(key);
    return value === undefined ? fallback : value;
  }),
  pop: takes(['key', 'default?'], (dict, [key, fallback]) => {
    const found = dict.get(key);
    const value = found === undefined ? fallback : found;
    if (value === undefined) throw new Error('pop(): the dict has no such key');
    dict.delete(key);
    return value;
  }),
  update: (dict, { positional: [other], keywords }) => {
    if (other instanceof Dict) for (const [key, value] of other.entries()) dict.set(key, value);
    for (const [key, value] of keywords) dict.set(key, value);
    return null;
  },
  setdefault: takes(['key', 'default?'], (dict, [key, fallback = null]) => {
    const found = dict.get(key);
    if (found !== undefined) return found;
    dict.set(key, fallback);
    return fallback;
  }),
});

const sequenceMethods = byName<Method<readonly Value[]>>({
  index: takes(['value'], (items, [sought], budget) => {
    const index = items.findIndex((item) => areEqual(item, sought, budget));
    if (index < 0) throw new Error('index(): the value is not in the list');
    return index;
  }),
  count: takes(['value'], (items, [sought], budget) => items.filter((item) => areEqual(item, sought, budget)).length),
});

// Transformers' sandbox refuses the methods that change a list. Some published templates use them all the same; other
// runtimes allow them, and the lists belong to one rendering.
const listMethods = byName<Method<Value[]>>({
  ...Object.fromEntries(sequenceMethods),
  copy: (list) => [...list],
  append: takes(['value'], (list, [item]) => {
    list.push(item);
    return null;
  }),
  extend: takes(['value'], (list, [others], budget) => {
    const items = iterate(others);
    budget.spendList(list.length + items.length);
    for (const item of items.slice()) list.push(item);
    return null;
  }),
  insert: takes(['index', 'object'], (list, [index, item]) => {
    list.splice(integerOf(index), 0, item);
    return null;
  }),
  pop: takes(['index?'], (list, [index = -1]) => {
    const [item] = list.splice(integerOf(index), 1);
    if (item === undefined) throw new Error('pop(): the list has no such item');
    return item;
  }),
});
