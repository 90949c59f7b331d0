import { byName, Dict, Float, type JinjaFilter, takes, Tuple, typeName, Undefined } from '../values/values.ts';
import { lengthOf, splitLines } from '../values/characters.ts';
import { toJson, toText } from '../values/text.ts';
import { calculate, numberResult, repeatText, formatPercent } from '../operations/operators.ts';
import { mapAttribute } from './lists.ts';
import { capitalize, replaceText, stripText } from '../operations/stringMethods.ts';
import {
  countOf,
  integerOf,
  isTrue,
  iterate,
  numberOf,
  requireDefined,
  requireNumber,
  stringOf,
} from '../values/coercion.ts';

const ofText =
  (change: (text: string) => string): JinjaFilter =>
  (value, _, { budget }) => {
    const text = toText(value, budget);
    budget.spend(text.length / 4);
    return change(text);
  };

const indent: JinjaFilter = takes(
  ['width?', 'first?', 'blank?'],
  (value, [width = 4, first = false, blank = false], { budget }) => {
    const margin = typeof width === 'string' ? width : repeatText(' ', integerOf(width), budget);
    // As in Jinja, a newline at the end stays.
    const lines = splitLines(`${stringOf(value)}\n`);
    budget.spendText(stringOf(value).length + lines.length * margin.length);
    return lines
      .map((line, index) => ((index === 0 ? isTrue(first) : isTrue(blank) || line !== '') ? margin + line : line))
      .join('\n');
  },
);

const join: JinjaFilter = takes(['d?', 'attribute?'], (value, [separator = '', attribute = null], { budget }) => {
  const items = iterate(mapAttribute(value, attribute, budget)).map((item) => toText(item, budget));
  const text = toText(separator, budget);
  budget.spendText(items.reduce((length, item) => length + item.length + text.length, 0));
  return items.join(text);
});

const jsonParameters = ['ensure_ascii?', 'indent?', 'separators?', 'sort_keys?'] as const;

const tojson: JinjaFilter = takes(jsonParameters, (value, given, { budget }) => {
  const [ensureAscii = false, indent = null, separators = null, sortKeys = false] = given;
  const [itemSeparator = null, keySeparator = null] = separators === null ? [] : iterate(separators);
  const settings = {
    indent:
      indent === null ? undefined : typeof indent === 'string' ? indent : repeatText(' ', integerOf(indent), budget),
    itemSeparator: itemSeparator === null ? (indent === null ? ', ' : ',') : stringOf(itemSeparator),
    keySeparator: keySeparator === null ? ': ' : stringOf(keySeparator),
    ensureAscii: isTrue(ensureAscii),
    sortKeys: isTrue(sortKeys),
  };
  const json = toJson(value, settings, budget);
  budget.spendText(json.length);
  return json;
});

const center: JinjaFilter = takes(['width?'], (value, [width = 80], { budget }) => {
  const text = toText(value, budget);
  const margin = Math.max(0, integerOf(width) - lengthOf(text));
  const left = Math.floor(margin / 2) + ((margin % 2) & (integerOf(width) % 2));
  return repeatText(' ', left, budget) + text + repeatText(' ', margin - left, budget);
});

const truncate: JinjaFilter = takes(['length?', 'killwords?', 'end?', 'leeway?'], (value, given, { budget }) => {
  const [length = 255, killWords = false, end = '...', leeway = 5] = given;
  const text = toText(value, budget);
  budget.spend(text.length);
  const limit = integerOf(length);
  const ending = stringOf(end);
  if (lengthOf(text) <= limit + integerOf(leeway)) return text;
  const start = [...text].slice(0, Math.max(0, limit - lengthOf(ending))).join('');
  if (isTrue(killWords)) return start + ending;
  const lastSpace = start.lastIndexOf(' ');
  return (lastSpace < 0 ? start : start.slice(0, lastSpace)) + ending;
});

const htmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escape = ofText((text) => text.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? ''));

const length: JinjaFilter = (value) => {
  if (value instanceof Undefined) return 0;
  const count = typeof value === 'string' ? lengthOf(value) : countOf(value);
  if (count === undefined) throw new Error(`object of type '${typeName(value)}' has no len()`);
  return count;
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

export const scalarFilters = byName<JinjaFilter>({
  string: ofText((text) => text),
  // Jinja would escape HTML in what is then added to the text, which no chat template wants.
  safe: ofText((text) => text),
  e: escape,
  escape,
  forceescape: escape,
  upper: ofText((text) => text.toUpperCase()),
  lower: ofText((text) => text.toLowerCase()),
  capitalize: ofText(capitalize),
  title: ofText((text) => text.replace(/[^-\s({[<]+/g, capitalize)),
  trim: takes(['chars?'], (value, [chars = null], { budget }) => stripText(toText(value, budget), chars)),
  indent,
  join,
  tojson,
  center,
  truncate,
  replace: takes(['old', 'new', 'count?'], (value, given, { budget }) =>
    replaceText(toText(value, budget), given, budget),
  ),
  format: (value, { positional, keywords }, { budget }) =>
    formatPercent(toText(value, budget), keywords.size > 0 ? new Dict(keywords) : new Tuple(positional), budget),
  urlencode: ofText((text) => encodeURIComponent(text).replaceAll('%2F', '/')),
  length,
  count: length,
  int: toInteger,
  float: toFloat,
  round,
  abs: (value) => numberResult(Math.abs(requireNumber(value)), value instanceof Float),
  wordcount: (value, _, { budget }) => toText(value, budget).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
  sum: takes(['attribute?', 'start?'], (value, [attribute = null, start = 0], { budget }) =>
    iterate(mapAttribute(value, attribute, budget)).reduce((sum, item) => calculate('+', sum, item, budget), start),
  ),
});
