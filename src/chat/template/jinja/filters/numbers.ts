import { Dict, Float, takes, Tuple, Undefined, View, typeName, type Value } from '../values/values.ts';
import { lengthOf } from '../values/characters.ts';
import { calculate, numberResult } from '../operations/operators.ts';
import type { JinjaFilter } from '../runtime.ts';
import { mapAttribute } from './lists.ts';
import { toText } from '../values/text.ts';
import { integerOf, iterate, numberOf, requireDefined, stringOf } from '../values/coercion.ts';

const length: JinjaFilter = (value) => {
  if (typeof value === 'string') return lengthOf(value);
  if (Array.isArray(value)) return value.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Tuple || value instanceof View) return value.items.length;
  if (value instanceof Undefined) return 0;
  throw new Error(`object of type '${typeName(value)}' has no len()`);
};

const toInteger: JinjaFilter = takes(['default?', 'base?'], (value, [fallback = 0, base = 10]) => {
  const number = numberOf(requireDefined(value));
  if (number !== undefined) return Math.trunc(number);
  const text = typeof value === 'string' ? value.trim().replaceAll('_', '') : '';
  const digits = integerOf(base) === 10 ? /^[-+]?\d+$/ : /^[-+]?\w+$/;
  const integer = digits.test(text) ? Number.parseInt(text, integerOf(base)) : Math.trunc(parseFloatText(text));
  return Number.isFinite(integer) ? integer : fallback;
});

const toFloat: JinjaFilter = takes(['default?'], (value, [fallback = new Float(0)]) => {
  const number =
    numberOf(requireDefined(value)) ?? (typeof value === 'string' ? parseFloatText(value.trim()) : Number.NaN);
  return Number.isNaN(number) ? fallback : new Float(number);
});

const parseFloatText = (text: string): number =>
  /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN;

const round: JinjaFilter = takes(['precision?', 'method?'], (value, [precision = 0, method = 'common']) => {
  if (!(value instanceof Float) && integerOf(precision) >= 0) return requireNumber(value);
  const factor = 10 ** integerOf(precision);
  const scaled = requireNumber(value) * factor;
  return numberResult(roundBy(stringOf(method), scaled) / factor, true);
});

function roundBy(method: string, value: number): number {
  if (method === 'ceil') return Math.ceil(value);
  if (method === 'floor') return Math.floor(value);
  // Python rounds halves to even.
  const down = Math.floor(value);
  return value - down === 0.5 ? down + (down % 2 === 0 ? 0 : 1) : Math.round(value);
}

function requireNumber(value: Value): number {
  const number = numberOf(requireDefined(value));
  if (number === undefined) throw new Error(`'${typeName(value)}' is not a number`);
  return number;
}

/** Filters whose result is a number. */
export const numberFilters: ReadonlyMap<string, JinjaFilter> = new Map<string, JinjaFilter>([
  ['length', length],
  ['count', length],
  ['int', toInteger],
  ['float', toFloat],
  ['round', round],
  ['abs', (value) => numberResult(Math.abs(requireNumber(value)), value instanceof Float)],
  ['wordcount', (value, _, { budget }) => toText(value, budget).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0],
  [
    'sum',
    takes(['attribute?', 'start?'], (value, [attribute = null, start = 0], { budget }) =>
      iterate(mapAttribute(value, attribute, budget)).reduce((sum, item) => calculate('+', sum, item, budget), start),
    ),
  ],
]);
