import { bindArguments, Dict, Tuple, type Value } from '../values/values.ts';
import { isWhitespace, lengthOf, stripEnd, stripStart, splitLines } from '../values/characters.ts';
import { toJson, toText } from '../values/text.ts';
import { repeatText } from '../operations/operators.ts';
import { formatPercent } from '../operations/format.ts';
import type { JinjaFilter, JinjaRuntime } from '../runtime.ts';
import { capitalize, replaceText } from '../operations/stringMethods.ts';
import { integerOf, isTrue, iterate, stringOf } from '../values/coercion.ts';

/** A filter of the text that a value is printed as. */
const ofText =
  (change: (text: string) => string): JinjaFilter =>
  (value, _, { budget }) => {
    const text = toText(value, budget);
    budget.spend(text.length / 4);
    return change(text);
  };

const trim: JinjaFilter = (value, args, { budget }) => {
  const [characters = null] = bindArguments('trim', args, ['chars']);
  const stripped = characters === null ? undefined : new Set(stringOf(characters));
  const isStripped = stripped ? (character: string) => stripped.has(character) : isWhitespace;
  return stripEnd(stripStart(toText(value, budget), isStripped), isStripped);
};

const indent: JinjaFilter = (value, args, { budget }) => {
  const [width = 4, first = false, blank = false] = bindArguments('indent', args, ['width', 'first', 'blank']);
  const margin = typeof width === 'string' ? width : repeatText(' ', integerOf(width), budget);
  // As in Jinja, a newline at the end stays.
  const lines = splitLines(`${stringOf(value)}\n`);
  budget.spendText(stringOf(value).length + lines.length * margin.length);
  return lines
    .map((line, index) => ((index === 0 ? isTrue(first) : isTrue(blank) || line !== '') ? margin + line : line))
    .join('\n');
};

const join: JinjaFilter = (value, args, runtime) => {
  const [separator = '', attribute = null] = bindArguments('join', args, ['d', 'attribute']);
  const source = attribute === null ? value : mapAttribute(runtime, value, attribute);
  const items = iterate(source).map((item) => toText(item, runtime.budget));
  const text = toText(separator, runtime.budget);
  runtime.budget.spendText(items.reduce((length, item) => length + item.length + text.length, 0));
  return items.join(text);
};

const mapAttribute = (runtime: JinjaRuntime, value: Value, attribute: Value): Value =>
  runtime.applyFilter('map', value, { positional: [], keywords: new Map([['attribute', attribute]]) });

const tojson: JinjaFilter = (value, args, { budget }) => {
  const names = ['ensure_ascii', 'indent', 'separators', 'sort_keys'];
  const [ensureAscii = false, indent = null, separators = null, sortKeys = false] = bindArguments(
    'tojson',
    args,
    names,
  );
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
};

const center: JinjaFilter = (value, args, { budget }) => {
  const [width = 80] = bindArguments('center', args, ['width']);
  const text = toText(value, budget);
  const margin = Math.max(0, integerOf(width) - lengthOf(text));
  const left = Math.floor(margin / 2) + ((margin % 2) & (integerOf(width) % 2));
  return repeatText(' ', left, budget) + text + repeatText(' ', margin - left, budget);
};

const truncate: JinjaFilter = (value, args, { budget }) => {
  const names = ['length', 'killwords', 'end', 'leeway'];
  const [length = 255, killWords = false, end = '...', leeway = 5] = bindArguments('truncate', args, names);
  const text = toText(value, budget);
  budget.spend(text.length);
  const limit = integerOf(length);
  const ending = stringOf(end);
  if (lengthOf(text) <= limit + integerOf(leeway)) return text;
  const start = [...text].slice(0, Math.max(0, limit - lengthOf(ending))).join('');
  if (isTrue(killWords)) return start + ending;
  const lastSpace = start.lastIndexOf(' ');
  return (lastSpace < 0 ? start : start.slice(0, lastSpace)) + ending;
};

const htmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escape = ofText((text) => text.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? ''));

/** Filters whose result is a text. */
export const textFilters: ReadonlyMap<string, JinjaFilter> = new Map<string, JinjaFilter>([
  ['string', ofText((text) => text)],
  // Jinja would escape HTML in what is then added to the text, which no chat template wants.
  ['safe', ofText((text) => text)],
  ['e', escape],
  ['escape', escape],
  ['forceescape', escape],
  ['upper', ofText((text) => text.toUpperCase())],
  ['lower', ofText((text) => text.toLowerCase())],
  ['capitalize', ofText(capitalize)],
  ['title', ofText((text) => text.replace(/[^-\s({[<]+/g, capitalize))],
  ['trim', trim],
  ['indent', indent],
  ['join', join],
  ['tojson', tojson],
  ['center', center],
  ['truncate', truncate],
  [
    'replace',
    (value, args, { budget }) =>
      replaceText(toText(value, budget), bindArguments('replace', args, ['old', 'new', 'count']), budget),
  ],
  [
    'format',
    (value, { positional, keywords }, { budget }) =>
      formatPercent(toText(value, budget), keywords.size > 0 ? new Dict(keywords) : new Tuple(positional), budget),
  ],
  ['urlencode', ofText((text) => encodeURIComponent(text).replaceAll('%2F', '/'))],
]);
