import type { StepBudget } from '../stepBudget.ts';
import { itemOf } from '../operations/subscript.ts';
import { integerOf, isTrue, iterate, orUndefined, requireDefined, sizeOf, stringOf } from '../values/coercion.ts';
import {
  type CallArguments,
  Dict,
  Generator,
  Tuple,
  typeName,
  Undefined,
  type Value,
  bindArguments,
  requireArgument,
} from '../values/values.ts';
import { areEqual, compareValues } from '../operations/operators.ts';
import type { JinjaFilter, JinjaRuntime } from '../runtime.ts';

/**
 * A function that reads an attribute of an item, as filters name it: `a.b.0`, or an index.
 * @param fallback in place of an undefined attribute.
 */
function attributeReader(attribute: Value, budget: StepBudget): (item: Value) => Value {
  const path = typeof attribute === 'number' ? [attribute] : stringOf(attribute).split('.');
  const keys = path.map((part) => (typeof part === 'string' && /^\d+$/.test(part) ? Number(part) : part));
  return (item) => keys.reduce<Value>((value, key) => itemOf(value, key, budget), item);
}

/** A function that makes texts comparable without their case, unless it matters. */
const caseFolder =
  (isCaseSensitive: boolean, budget: StepBudget) =>
  (value: Value): Value => {
    budget.spend(sizeOf(value));
    return typeof value === 'string' && !isCaseSensitive ? value.toLowerCase() : value;
  };

// As in Jinja, there is nothing to map or select in none.
const itemsOf = (value: Value): readonly Value[] => (isTrue(value) ? iterate(value) : []);

const map: JinjaFilter = (value, { positional, keywords }, runtime) => {
  const attribute = keywords.get('attribute');
  if (attribute !== undefined) {
    const read = attributeReader(attribute, runtime.budget);
    const fallback = keywords.get('default');
    const orFallback = (item: Value): Value => (item instanceof Undefined && fallback !== undefined ? fallback : item);
    return new Generator(itemsOf(value).map((item) => orFallback(read(item))));
  }
  const [name, ...rest] = positional;
  const filter = stringOf(requireArgument('map', name));
  return new Generator(itemsOf(value).map((item) => runtime.applyFilter(filter, item, { positional: rest, keywords })));
};

/** `select`, `reject`, and the same by an attribute. */
const selection =
  (isKept: boolean, byAttribute: boolean): JinjaFilter =>
  (value, { positional, keywords }, runtime) => {
    const read = byAttribute
      ? attributeReader(requireArgument('selectattr', positional[0]), runtime.budget)
      : (item: Value) => item;
    const [name, ...rest] = byAttribute ? positional.slice(1) : positional;
    const test = (item: Value): boolean =>
      name === undefined ? isTrue(item) : runtime.applyTest(stringOf(name), item, { positional: rest, keywords });
    return new Generator(itemsOf(value).filter((item) => test(read(item)) === isKept));
  };

function sorted(items: readonly Value[], key: (item: Value) => Value, isReversed: boolean, { budget }: JinjaRuntime) {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  keyed.sort((left, right) =>
    isReversed ? compareValues(right.key, left.key, budget) : compareValues(left.key, right.key, budget),
  );
  return keyed.map(({ item }) => item);
}

const sort: JinjaFilter = (value, args, runtime) => {
  const names = ['reverse', 'case_sensitive', 'attribute'];
  const [isReversed = false, caseSensitive = false, attribute = null] = bindArguments('sort', args, names);
  const fold = caseFolder(isTrue(caseSensitive), runtime.budget);
  const readers =
    attribute === null
      ? []
      : stringOf(attribute)
          .split(',')
          .map((name) => attributeReader(name, runtime.budget));
  const key = (item: Value): Value =>
    readers.length === 0 ? fold(item) : new Tuple(readers.map((read) => fold(read(item))));
  return sorted(iterate(value), key, isTrue(isReversed), runtime);
};

const dictsort: JinjaFilter = (value, args, runtime) => {
  const [caseSensitive = false, by = 'key', isReversed = false] = bindArguments('dictsort', args, [
    'case_sensitive',
    'by',
    'reverse',
  ]);
  const index = stringOf(by) === 'key' ? 0 : 1;
  const fold = caseFolder(isTrue(caseSensitive), runtime.budget);
  const key = (pair: Value): Value => (pair instanceof Tuple ? fold(pair.items[index] ?? null) : null);
  return sorted(pairs(requireDefined(value)), key, isTrue(isReversed), runtime);
};

function pairs(value: Value): readonly Value[] {
  if (value instanceof Undefined) return [];
  if (!(value instanceof Dict)) throw new Error(`Can only get item pairs from a mapping, not '${typeName(value)}'`);
  return value.entries().map((entry) => new Tuple(entry));
}

const unique: JinjaFilter = (value, args, { budget }) => {
  const [caseSensitive = false, attribute = null] = bindArguments('unique', args, ['case_sensitive', 'attribute']);
  const fold = caseFolder(isTrue(caseSensitive), budget);
  const read = attribute === null ? (item: Value) => item : attributeReader(attribute, budget);
  const seen = new Dict();
  return new Generator(
    iterate(value).filter((item) => {
      const key = fold(read(item));
      const isNew = seen.get(key) === undefined;
      seen.set(key, true);
      return isNew;
    }),
  );
};

/** `min` and `max`. */
const extreme =
  (sign: 1 | -1): JinjaFilter =>
  (value, args, { budget }) => {
    const [caseSensitive = false, attribute = null] = bindArguments('min', args, ['case_sensitive', 'attribute']);
    const fold = caseFolder(isTrue(caseSensitive), budget);
    const read = attribute === null ? (item: Value) => item : attributeReader(attribute, budget);
    const [first, ...rest] = iterate(value);
    if (first === undefined) return new Undefined('No aggregated item, sequence was empty.');
    const isBetter = (item: Value, best: Value): boolean =>
      sign * compareValues(fold(read(item)), fold(read(best)), budget) < 0;
    return rest.reduce((best, item) => (isBetter(item, best) ? item : best), first);
  };

const groupby: JinjaFilter = (value, args, runtime) => {
  const [attribute, fallback] = bindArguments('groupby', args, ['attribute', 'default']);
  const read = attributeReader(requireArgument('groupby', attribute), runtime.budget);
  const key = (item: Value): Value => {
    const found = read(item);
    return found instanceof Undefined && fallback !== undefined ? fallback : found;
  };
  const groups: { readonly key: Value; readonly items: Value[] }[] = [];
  for (const item of sorted(iterate(value), key, false, runtime)) {
    const last = groups.at(-1);
    if (last && areEqual(last.key, key(item), runtime.budget)) last.items.push(item);
    else groups.push({ key: key(item), items: [item] });
  }
  return groups.map(({ key, items }) => new Tuple([key, items]));
};

const batch: JinjaFilter = (value, args, { budget }) => {
  const [size, fill = null] = bindArguments('batch', args, ['linecount', 'fill_with']);
  const count = Math.max(1, integerOf(requireArgument('batch', size)));
  const items = iterate(value);
  const missing = fill === null ? 0 : (count - (items.length % count)) % count;
  budget.spendList(items.length + missing);
  const filled = [...items, ...Array.from({ length: missing }, () => fill)];
  const batches = Array.from({ length: Math.ceil(items.length / count) }, (_, index) =>
    filled.slice(index * count, (index + 1) * count),
  );
  return new Generator(batches);
};

const reverse: JinjaFilter = (value) =>
  typeof value === 'string' ? [...value].reverse().join('') : new Generator([...iterate(value)].reverse());

const firstOf = (items: readonly Value[]): Value => orUndefined(items[0], 'No first item, sequence was empty.');
const lastOf = (items: readonly Value[]): Value => orUndefined(items.at(-1), 'No last item, sequence was empty.');

/** Whether a value is replaced by another one: where it is undefined or, if the caller wants it, false. */
function defaultOf(value: Value, args: CallArguments): Value {
  const [fallback = '', boolean = false] = bindArguments('default', args, ['default_value', 'boolean']);
  return value instanceof Undefined || (isTrue(boolean) && !isTrue(value)) ? fallback : value;
}

/** Filters of lists and dicts. */
export const listFilters: ReadonlyMap<string, JinjaFilter> = new Map<string, JinjaFilter>([
  ['default', defaultOf],
  ['d', defaultOf],
  ['list', (value) => [...iterate(value)]],
  ['items', (value) => new Generator(pairs(value))],
  ['first', (value) => firstOf(iterate(value))],
  ['last', (value) => lastOf(iterate(value))],
  ['reverse', reverse],
  ['map', map],
  ['select', selection(true, false)],
  ['reject', selection(false, false)],
  ['selectattr', selection(true, true)],
  ['rejectattr', selection(false, true)],
  ['sort', sort],
  ['dictsort', dictsort],
  ['unique', unique],
  ['min', extreme(1)],
  ['max', extreme(-1)],
  ['groupby', groupby],
  ['batch', batch],
  [
    'attr',
    (value, args, { budget }) =>
      attributeReader(requireArgument('attr', bindArguments('attr', args, ['name'])[0]), budget)(value),
  ],
]);
