import type { StepBudget } from '../stepBudget.ts';
import { Callable, Dict, takes, Tuple, View, type PythonFunction, type Value } from '../values/values.ts';
import { areEqual } from './operators.ts';
import { stringMethods } from './stringMethods.ts';
import { integerOf, iterate, sizeOf } from '../values/coercion.ts';

type Method<Subject> = PythonFunction<Subject, StepBudget>;

/** A method of a value, as a function; undefined where it has none of this name. */
export function methodOf(value: Value, name: string): Callable | undefined {
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

const dictMethods = new Map<string, Method<Dict>>([
  [
    'items',
    (dict) =>
      new View(
        'dict_items',
        dict.entries().map((entry) => new Tuple(entry)),
      ),
  ],
  ['keys', (dict) => new View('dict_keys', dict.keys())],
  ['values', (dict) => new View('dict_values', dict.values())],
  ['copy', (dict) => new Dict(dict.entries())],
  [
    'get',
    takes(['key', 'default?'], (dict, [key, fallback = null]) => {
      const value = dict.get(key);
      return value === undefined ? fallback : value;
    }),
  ],
  [
    'pop',
    takes(['key', 'default?'], (dict, [key, fallback]) => {
      const found = dict.get(key);
      const value = found === undefined ? fallback : found;
      if (value === undefined) throw new Error('pop(): the dict has no such key');
      dict.delete(key);
      return value;
    }),
  ],
  [
    'update',
    (dict, { positional: [other], keywords }) => {
      if (other instanceof Dict) for (const [key, value] of other.entries()) dict.set(key, value);
      for (const [key, value] of keywords) dict.set(key, value);
      return null;
    },
  ],
  [
    'setdefault',
    takes(['key', 'default?'], (dict, [key, fallback = null]) => {
      const found = dict.get(key);
      if (found !== undefined) return found;
      dict.set(key, fallback);
      return fallback;
    }),
  ],
]);

const sequenceMethods = new Map<string, Method<readonly Value[]>>([
  [
    'index',
    takes(['value'], (items, [sought], budget) => {
      const index = items.findIndex((item) => areEqual(item, sought, budget));
      if (index < 0) throw new Error('index(): the value is not in the list');
      return index;
    }),
  ],
  [
    'count',
    takes(['value'], (items, [sought], budget) => items.filter((item) => areEqual(item, sought, budget)).length),
  ],
]);

// Transformers' sandbox refuses the methods that change a list. Some published templates use them all the same; other
// runtimes allow them, and the lists belong to one rendering.
const listMethods = new Map<string, Method<Value[]>>([
  ...sequenceMethods,
  ['copy', (list) => [...list]],
  [
    'append',
    takes(['value'], (list, [item]) => {
      list.push(item);
      return null;
    }),
  ],
  [
    'extend',
    takes(['value'], (list, [others], budget) => {
      const items = iterate(others);
      budget.spendList(list.length + items.length);
      for (const item of items.slice()) list.push(item);
      return null;
    }),
  ],
  [
    'insert',
    takes(['index', 'object'], (list, [index, item]) => {
      list.splice(integerOf(index), 0, item);
      return null;
    }),
  ],
  [
    'pop',
    takes(['index?'], (list, [index = -1]) => {
      const [item] = list.splice(integerOf(index), 1);
      if (item === undefined) throw new Error('pop(): the list has no such item');
      return item;
    }),
  ],
]);
