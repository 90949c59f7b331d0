import type { StepBudget } from '../stepBudget.ts';
import { itemOf } from '../operations/attributes.ts';
import { integerOf, isTrue, iterate, orUndefined, requireDefined, sizeOf, stringOf } from '../values/coercion.ts';
import type { JinjaFilter, JinjaRuntime, Value } from '../values/values.ts';
import { byName, Dict, Generator, takes, Tuple, typeName, Undefined } from '../values/values.ts';
import { areEqual, compareValues } from '../operations/operators.ts';

/** Reads an attribute of an item as filters name it: `a.b.0`, or an index. @param fallback in place of undefined. */
function attributeReader(attribute: Value, budget: StepBudget, fallback?: Value): (item: Value) => Value {
  const path = typeof attribute === 'number' ? [attribute] : stringOf(attribute).split('.');
  const keys = path.map((part) => (typeof part === 'string' && /^\d+$/.test(part) ? Number(part) : part));
  return (item) => {
    const found = keys.reduce<Value>((value, key) => itemOf(value, key, budget), item);
    return found instanceof Undefined && fallback !== undefined ? fallback : found;
  };
}

/** The values of an attribute of items; the items themselves where none is named. */
export const mapAttribute = (value: Value, attribute: Value, budget: StepBudget): Value =>
  attribute === null ? value : new Generator(itemsOf(value).map(attributeReader(attribute, budget)));

/** A function that makes texts comparable without their case, unless it matters. */
const caseFolder =
  (isCaseSensitive: Value, budget: StepBudget) =>
  (value: Value): Value => {
    budget.spend(sizeOf(value));
    return typeof value === 'string' && !isTrue(isCaseSensitive) ? value.toLowerCase() : value;
  };

/** A function that reads what an item is compared by: its attribute, or the item itself. */
function keyReader([isCaseSensitive = false, attribute = null]: KeyArguments, budget: StepBudget) {
  const fold = caseFolder(isCaseSensitive, budget);
  const read = attribute === null ? (item: Value) => item : attributeReader(attribute, budget);
  return (item: Value): Value => fold(read(item));
}

const keyParameters = ['case_sensitive?', 'attribute?'] as const;
type KeyArguments = readonly [isCaseSensitive: Value | undefined, attribute: Value | undefined];

// As in Jinja, there is nothing to map or select in none.
const itemsOf = (value: Value): readonly Value[] => (isTrue(value) ? iterate(value) : []);

const map: JinjaFilter = (value, { positional, keywords }, runtime, ownName) => {
  const attribute = keywords.get('attribute');
  if (attribute !== undefined)
    return new Generator(itemsOf(value).map(attributeReader(attribute, runtime.budget, keywords.get('default'))));
  const [name, ...rest] = positional;
  const filter = stringOf(requireArgument(ownName, name));
  return new Generator(itemsOf(value).map((item) => runtime.applyFilter(filter, item, { positional: rest, keywords })));
};

const selection =
  (isKept: boolean, byAttribute: boolean): JinjaFilter =>
  (value, { positional, keywords }, runtime, ownName) => {
    const read = byAttribute
      ? attributeReader(requireArgument(ownName, positional[0]), runtime.budget)
      : (item: Value) => item;
    const [name, ...rest] = byAttribute ? positional.slice(1) : positional;
    const test = (item: Value): boolean =>
      name === undefined ? isTrue(item) : runtime.applyTest(stringOf(name), item, { positional: rest, keywords });
    return new Generator(itemsOf(value).filter((item) => test(read(item)) === isKept));
  };

/** @throws Error when an argument is missing. */
function requireArgument(name: string, value: Value | undefined): Value {
  if (value === undefined) throw new Error(`${name}() misses an argument`);
  return value;
}

function sorted<Item extends Value>(
  items: readonly Item[],
  key: (item: Item) => Value,
  isReversed: Value,
  { budget }: JinjaRuntime,
): Item[] {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  keyed.sort((left, right) =>
    isTrue(isReversed) ? compareValues(right.key, left.key, budget) : compareValues(left.key, right.key, budget),
  );
  return keyed.map(({ item }) => item);
}

const sort: JinjaFilter = takes(['reverse?', ...keyParameters], (value, given, runtime) => {
  const [isReversed = false, isCaseSensitive, attribute = null] = given;
  const names = attribute === null ? [null] : stringOf(attribute).split(',');
  const readers = names.map((name) => keyReader([isCaseSensitive, name], runtime.budget));
  return sorted(iterate(value), (item) => new Tuple(readers.map((read) => read(item))), isReversed, runtime);
});

const dictsort: JinjaFilter = takes(['case_sensitive?', 'by?', 'reverse?'], (value, given, runtime) => {
  const [isCaseSensitive = false, by = 'key', isReversed = false] = given;
  const index = stringOf(by) === 'key' ? 0 : 1;
  const fold = caseFolder(isCaseSensitive, runtime.budget);
  const key = (pair: Tuple): Value => fold(pair.items[index] ?? null);
  return sorted(pairs(requireDefined(value)), key, isReversed, runtime);
});

function pairs(value: Value): readonly Tuple[] {
  if (value instanceof Undefined) return [];
  if (!(value instanceof Dict)) throw new Error(`Can only get item pairs from a mapping, not '${typeName(value)}'`);
  return value.items();
}

const unique: JinjaFilter = takes(keyParameters, (value, given, { budget }) => {
  const keyOf = keyReader(given, budget);
  const seen = new Dict();
  return new Generator(
    iterate(value).filter((item) => {
      const key = keyOf(item);
      const isNew = seen.get(key) === undefined;
      seen.set(key, true);
      return isNew;
    }),
  );
});

const extreme = (sign: 1 | -1): JinjaFilter =>
  takes(keyParameters, (value, given, { budget }) => {
    const key = keyReader(given, budget);
    const [first, ...rest] = iterate(value);
    if (first === undefined) return new Undefined('No aggregated item, sequence was empty.');
    const isBetter = (item: Value, best: Value): boolean => sign * compareValues(key(item), key(best), budget) < 0;
    return rest.reduce((best, item) => (isBetter(item, best) ? item : best), first);
  });

const groupby: JinjaFilter = takes(['attribute', 'default?'], (value, [attribute, fallback], runtime) => {
  const read = attributeReader(attribute, runtime.budget, fallback);
  const groups: { readonly key: Value; readonly items: Value[] }[] = [];
  for (const item of sorted(iterate(value), read, false, runtime)) {
    const last = groups.at(-1);
    if (last && areEqual(last.key, read(item), runtime.budget)) last.items.push(item);
    else groups.push({ key: read(item), items: [item] });
  }
  return groups.map(({ key, items }) => new Tuple([key, items]));
});

const batch: JinjaFilter = takes(['linecount', 'fill_with?'], (value, [size, fill = null], { budget }) => {
  const count = Math.max(1, integerOf(size));
  const items = iterate(value);
  const missing = fill === null ? 0 : (count - (items.length % count)) % count;
  budget.spendList(items.length + missing);
  const filled = [...items, ...Array.from({ length: missing }, () => fill)];
  const batches = Array.from({ length: Math.ceil(items.length / count) }, (_, index) =>
    filled.slice(index * count, (index + 1) * count),
  );
  return new Generator(batches);
});

const reverse: JinjaFilter = (value) =>
  typeof value === 'string' ? [...value].reverse().join('') : new Generator([...iterate(value)].reverse());

/** A value, or another one where it is undefined or, if the caller wants it, false. */
const defaultOf: JinjaFilter = takes(['default_value?', 'boolean?'], (value, [fallback = '', boolean = false]) =>
  value instanceof Undefined || (isTrue(boolean) && !isTrue(value)) ? fallback : value,
);

export const listFilters = byName<JinjaFilter>({
  default: defaultOf,
  d: defaultOf,
  list: (value) => [...iterate(value)],
  items: (value) => new Generator(pairs(value)),
  first: (value) => orUndefined(iterate(value)[0], 'No first item, sequence was empty.'),
  last: (value) => orUndefined(iterate(value).at(-1), 'No last item, sequence was empty.'),
  reverse,
  map,
  select: selection(true, false),
  reject: selection(false, false),
  selectattr: selection(true, true),
  rejectattr: selection(false, true),
  sort,
  dictsort,
  unique,
  min: extreme(1),
  max: extreme(-1),
  groupby,
  batch,
  attr: takes(['name'], (value, [name], { budget }) => attributeReader(name, budget)(value)),
});
