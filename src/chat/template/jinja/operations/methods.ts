import type { StepBudget } from '../stepBudget.ts';
import {
  bindArguments,
  requireArgument,
  Callable,
  Dict,
  Tuple,
  View,
  type CallArguments,
  type Value,
} from '../values/values.ts';
import { areEqual } from './operators.ts';
import { stringMethods } from './stringMethods.ts';
import { integerOf, iterate, sizeOf } from '../values/coercion.ts';

/** A method of a value, as a function; undefined where it has none of this name. */
export function methodOf(value: Value, name: string): Callable | undefined {
  const method = findMethod(value, name);
  if (!method) return undefined;
  return new Callable(name, (args, budget) => {
    budget.spend(1 + sizeOf(value));
    return method(args, budget);
  });
}

type BoundMethod = (args: CallArguments, budget: StepBudget) => Value;

function findMethod(value: Value, name: string): BoundMethod | undefined {
  if (typeof value === 'string') {
    const method = stringMethods.get(name);
    return method && ((args, budget) => method(value, args, budget));
  }
  if (value instanceof Dict) {
    const method = dictMethods.get(name);
    return method && ((args) => method(value, args));
  }
  if (Array.isArray(value)) {
    const method = listMethods.get(name);
    return method && ((args, budget) => method(value, args, budget));
  }
  const tupleMethod = value instanceof Tuple ? sequenceMethods.get(name) : undefined;
  return tupleMethod && value instanceof Tuple ? (args, budget) => tupleMethod(value.items, args, budget) : undefined;
}

const dictMethods = new Map<string, (dict: Dict, args: CallArguments) => Value>([
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
    (dict, args) => {
      const [key, fallback = null] = bindArguments('get', args, ['key', 'default']);
      const value = dict.get(requireArgument('get', key));
      return value === undefined ? fallback : value;
    },
  ],
  [
    'pop',
    (dict, args) => {
      const [key, fallback] = bindArguments('pop', args, ['key', 'default']);
      const found = dict.get(requireArgument('pop', key));
      const value = found === undefined ? fallback : found;
      if (value === undefined) throw new Error('pop(): the dict has no such key');
      dict.delete(requireArgument('pop', key));
      return value;
    },
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
    (dict, args) => {
      const [key, fallback = null] = bindArguments('setdefault', args, ['key', 'default']);
      const name = requireArgument('setdefault', key);
      const found = dict.get(name);
      if (found !== undefined) return found;
      dict.set(name, fallback);
      return fallback;
    },
  ],
]);

type SequenceMethod = (items: readonly Value[], args: CallArguments, budget: StepBudget) => Value;

const sequenceMethods = new Map<string, SequenceMethod>([
  [
    'index',
    (items, args, budget) => {
      const index = items.findIndex((item) => areEqual(item, firstArgument('index', args), budget));
      if (index < 0) throw new Error('index(): the value is not in the list');
      return index;
    },
  ],
  [
    'count',
    (items, args, budget) => items.filter((item) => areEqual(item, firstArgument('count', args), budget)).length,
  ],
]);

type ListMethod = (list: Value[], args: CallArguments, budget: StepBudget) => Value;

// Transformers' sandbox refuses the methods that change a list. Some published templates use them all the same; other
// runtimes allow them, and the lists belong to one rendering.
const listMethods = new Map<string, ListMethod>([
  ...sequenceMethods,
  ['copy', (list) => [...list]],
  [
    'append',
    (list, args) => {
      list.push(firstArgument('append', args));
      return null;
    },
  ],
  [
    'extend',
    (list, args, budget) => {
      const items = iterate(firstArgument('extend', args));
      budget.spendList(list.length + items.length);
      for (const item of items.slice()) list.push(item);
      return null;
    },
  ],
  [
    'insert',
    (list, args) => {
      const [index, item] = bindArguments('insert', args, ['index', 'object']);
      list.splice(integerOf(requireArgument('insert', index)), 0, requireArgument('insert', item));
      return null;
    },
  ],
  [
    'pop',
    (list, args) => {
      const [index = -1] = bindArguments('pop', args, ['index']);
      const [item] = list.splice(integerOf(index), 1);
      if (item === undefined) throw new Error('pop(): the list has no such item');
      return item;
    },
  ],
]);

const firstArgument = (name: string, args: CallArguments): Value =>
  requireArgument(name, bindArguments(name, args, ['value'])[0]);
