import { bindArguments, Callable, Dict, Namespace, View, type Value } from './values/values.ts';
import { toText } from './values/text.ts';
import { integerOf, iterate, stringOf } from './values/coercion.ts';

const maxRangeLength = 100_000;

const range = new Callable('range', (args, budget) => {
  const [first, second, step = 1] = bindArguments('range', args, ['start', 'stop?', 'step?']);
  const start = integerOf(first);
  const [from, to] = second === undefined ? [0, start] : [start, integerOf(second)];
  const by = integerOf(step);
  if (by === 0) throw new Error('range() arg 3 must not be zero');
  const length = Math.max(0, Math.ceil((to - from) / by));
  if (length > maxRangeLength) throw new Error(`range() makes at most ${maxRangeLength} items`);
  budget.spendList(length);
  const items = Array.from({ length }, (_, index) => from + index * by);
  return new View('range', items, [from, to, ...(by === 1 ? [] : [by])].join(', '));
});

function dictEntries(source: Value | undefined): readonly (readonly [Value, Value])[] {
  if (source === undefined) return [];
  if (source instanceof Dict) return source.entries();
  return iterate(source).map((pair) => {
    const [key, value] = iterate(pair);
    if (key === undefined || value === undefined) throw new Error('a pair of a dict has a key and a value');
    return [key, value];
  });
}

const dict = new Callable(
  'dict',
  ({ positional: [source], keywords }) => new Dict([...dictEntries(source), ...keywords]),
);

const namespace = new Callable('namespace', ({ positional: [source], keywords }) => {
  const entries = dictEntries(source).map(([key, value]) => [stringOf(key), value] as const);
  return new Namespace(new Map([...entries, ...keywords]));
});

const raiseException = new Callable('raise_exception', (args, budget) => {
  const [message = ''] = bindArguments('raise_exception', args, ['message?']);
  throw new Error(toText(message, budget));
});

/** The functions that every chat template has. */
export const jinjaGlobals: ReadonlyMap<string, Callable> = new Map(
  [range, dict, namespace, raiseException].map((each) => [each.name, each]),
);
