import type { StepBudget } from '../stepBudget.ts';
import { bindArguments, requireArgument, Tuple, type CallArguments, type Value } from '../values/values.ts';
import {
  isWhitespace,
  lengthOf,
  stripEnd,
  stripStart,
  splitLines,
  splitText,
  splitWhitespace,
} from '../values/characters.ts';
import { repeatText } from './operators.ts';
import { formatBraces } from './format.ts';
import { integerOf, isTrue, iterate, stringOf } from '../values/coercion.ts';

type StringMethod = (text: string, args: CallArguments, budget: StepBudget) => Value;

/** Python's methods of `str`. */
export const stringMethods = new Map<string, StringMethod>([
  ['upper', (text) => text.toUpperCase()],
  ['lower', (text) => text.toLowerCase()],
  ['casefold', (text) => text.toLowerCase()],
  ['capitalize', (text) => capitalize(text)],
  ['title', (text) => text.replace(/\p{L}+/gu, capitalize)],
  ['strip', (text, args) => strip('strip', text, args, true, true)],
  ['lstrip', (text, args) => strip('lstrip', text, args, true, false)],
  ['rstrip', (text, args) => strip('rstrip', text, args, false, true)],
  ['split', (text, args, budget) => split('split', text, args, budget)],
  ['rsplit', (text, args, budget) => split('rsplit', text, args, budget)],
  ['splitlines', (text, args) => splitLines(text, isTrue(bindArguments('splitlines', args, ['keepends'])[0] ?? false))],
  [
    'startswith',
    (text, args, budget) => prefixes('startswith', args, budget).some((prefix) => text.startsWith(prefix)),
  ],
  ['endswith', (text, args, budget) => prefixes('endswith', args, budget).some((suffix) => text.endsWith(suffix))],
  [
    'replace',
    (text, args, budget) => replaceText(text, bindArguments('replace', args, ['old', 'new', 'count']), budget),
  ],
  ['removeprefix', (text, args) => removePrefix(text, argument('removeprefix', args))],
  ['removesuffix', (text, args) => removeSuffix(text, argument('removesuffix', args))],
  ['find', (text, args, budget) => codePointIndex(text, text.indexOf(sought('find', text, args, budget)))],
  ['rfind', (text, args, budget) => codePointIndex(text, text.lastIndexOf(sought('rfind', text, args, budget)))],
  [
    'index',
    (text, args, budget) => requireFound(codePointIndex(text, text.indexOf(sought('index', text, args, budget)))),
  ],
  [
    'rindex',
    (text, args, budget) => requireFound(codePointIndex(text, text.lastIndexOf(sought('rindex', text, args, budget)))),
  ],
  ['count', (text, args, budget) => splitText(text, argument('count', args), Infinity, budget).length - 1],
  [
    'partition',
    (text, args, budget) => {
      const separator = sought('partition', text, args, budget);
      return partition(text, separator, text.indexOf(separator));
    },
  ],
  [
    'rpartition',
    (text, args, budget) => {
      const separator = sought('rpartition', text, args, budget);
      const at = text.lastIndexOf(separator);
      return at < 0 ? new Tuple(['', '', text]) : partition(text, separator, at);
    },
  ],
  [
    'join',
    (text, args, budget) => {
      const items = iterate(bindArguments('join', args, ['iterable'])[0] ?? null).map(stringOf);
      budget.spendText(items.reduce((length, item) => length + item.length + text.length, 0));
      return items.join(text);
    },
  ],
  ['format', (text, args, budget) => formatBraces(text, args, budget)],
  ['ljust', (text, args, budget) => text + padding('ljust', text, args, budget)],
  ['rjust', (text, args, budget) => padding('rjust', text, args, budget) + text],
  ['zfill', (text, args, budget) => zeroFill(text, args, budget)],
  ['isdigit', (text) => /^\p{Nd}+$/u.test(text)],
  ['isdecimal', (text) => /^\p{Nd}+$/u.test(text)],
  ['isnumeric', (text) => /^\p{N}+$/u.test(text)],
  ['isalpha', (text) => /^\p{L}+$/u.test(text)],
  ['isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)],
  ['isspace', (text) => text !== '' && [...text].every(isWhitespace)],
  ['isupper', (text) => text !== text.toLowerCase() && text === text.toUpperCase()],
  ['islower', (text) => text !== text.toUpperCase() && text === text.toLowerCase()],
]);

const argument = (name: string, args: CallArguments): string =>
  stringOf(requireArgument(name, bindArguments(name, args, ['text'])[0]));

/** The argument of a method that searches for it in the text. */
function sought(name: string, text: string, args: CallArguments, budget: StepBudget): string {
  const part = argument(name, args);
  budget.spendSearch(text.length, part.length);
  return part;
}

/** The first character in upper case, the others in lower case. */
export function capitalize(text: string): string {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

function strip(name: string, text: string, args: CallArguments, atStart: boolean, atEnd: boolean): string {
  const [characters = null] = bindArguments(name, args, ['chars']);
  const stripped = characters === null ? undefined : new Set(stringOf(characters));
  const isStripped = stripped ? (character: string) => stripped.has(character) : isWhitespace;
  const rest = atStart ? stripStart(text, isStripped) : text;
  return atEnd ? stripEnd(rest, isStripped) : rest;
}

function split(name: 'split' | 'rsplit', text: string, args: CallArguments, budget: StepBudget): Value {
  const [separator = null, maxSplit = -1] = bindArguments(name, args, ['sep', 'maxsplit']);
  const count = integerOf(maxSplit) < 0 ? Infinity : integerOf(maxSplit);
  if (separator === null) return splitWhitespace(text, name === 'rsplit' ? -count : count);
  const by = stringOf(separator);
  if (by === '') throw new Error('empty separator');
  const parts = splitText(text, by, Infinity, budget);
  if (parts.length - 1 <= count) return parts;
  if (name === 'split') return [...parts.slice(0, count), parts.slice(count).join(by)];
  return [parts.slice(0, parts.length - count).join(by), ...(count > 0 ? parts.slice(-count) : [])];
}

function prefixes(name: string, args: CallArguments, budget: StepBudget): readonly string[] {
  const [prefix = null] = bindArguments(name, args, ['prefix']);
  const all = prefix instanceof Tuple ? prefix.items.map(stringOf) : [stringOf(prefix)];
  for (const { length } of all) budget.spend(length / 16);
  return all;
}

/** A text with a part replaced by another, all times or the first few. */
export function replaceText(text: string, args: readonly (Value | undefined)[], budget: StepBudget): string {
  const [old, replacement, count = -1] = args;
  const by = stringOf(requireArgument('replace', replacement));
  const limit = count === null || integerOf(count) < 0 ? Infinity : integerOf(count);
  const parts = splitText(text, stringOf(requireArgument('replace', old)), limit, budget);
  budget.spendText(text.length + parts.length * by.length);
  return parts.join(by);
}

const removePrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

const removeSuffix = (text: string, suffix: string): string =>
  text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text;

const codePointIndex = (text: string, index: number): number => (index < 0 ? -1 : lengthOf(text.slice(0, index)));

function requireFound(index: number): number {
  if (index < 0) throw new Error('substring not found');
  return index;
}

function partition(text: string, separator: string, at: number): Tuple {
  if (at < 0) return new Tuple([text, '', '']);
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function padding(name: string, text: string, args: CallArguments, budget: StepBudget): string {
  const [width, fill = ' '] = bindArguments(name, args, ['width', 'fillchar']);
  return repeatText(stringOf(fill), integerOf(requireArgument(name, width)) - lengthOf(text), budget);
}

function zeroFill(text: string, args: CallArguments, budget: StepBudget): string {
  const [width] = bindArguments('zfill', args, ['width']);
  const sign = /^[-+]?/.exec(text)?.[0] ?? '';
  const zeros = repeatText('0', integerOf(requireArgument('zfill', width)) - lengthOf(text), budget);
  return sign + zeros + text.slice(sign.length);
}
