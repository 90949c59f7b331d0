import type { StepBudget } from '../stepBudget.ts';
import { byName, takes, Tuple, type PythonFunction, type Value } from '../values/values.ts';
import {
  isWhitespace,
  lengthOf,
  stripEnd,
  stripStart,
  splitLines,
  splitText,
  splitWhitespace,
} from '../values/characters.ts';
import { repeatText, formatBraces } from './operators.ts';
import { integerOf, isTrue, iterate, stringOf } from '../values/coercion.ts';

type StringMethod = PythonFunction<string, StepBudget>;

const search = (run: (text: string, sought: string) => Value): StringMethod =>
  takes(['text'], (text, [sought], budget) => {
    const part = stringOf(sought);
    budget.spendSearch(text.length, part.length);
    return run(text, part);
  });

const strip = (atStart: boolean, atEnd: boolean): StringMethod =>
  takes(['chars?'], (text, [characters = null]) => stripText(text, characters, atStart, atEnd));

const split = (fromEnd: boolean): StringMethod =>
  takes(['sep?', 'maxsplit?'], (text, [separator = null, maxSplit = -1], budget) => {
    const count = integerOf(maxSplit) < 0 ? Infinity : integerOf(maxSplit);
    if (separator === null) return splitWhitespace(text, fromEnd ? -count : count);
    const by = stringOf(separator);
    if (by === '') throw new Error('empty separator');
    const parts = splitText(text, by, Infinity, budget);
    if (parts.length - 1 <= count) return parts;
    if (!fromEnd) return [...parts.slice(0, count), parts.slice(count).join(by)];
    return [parts.slice(0, parts.length - count).join(by), ...(count > 0 ? parts.slice(-count) : [])];
  });

const hasOne = (isThere: (text: string, part: string) => boolean): StringMethod =>
  takes(['prefix?'], (text, [prefix = null], budget) => {
    const all = prefix instanceof Tuple ? prefix.items.map(stringOf) : [stringOf(prefix)];
    for (const { length } of all) budget.spend(length / 16);
    return all.some((part) => isThere(text, part));
  });

const pad = (join: (text: string, padding: string) => string): StringMethod =>
  takes(['width', 'fillchar?'], (text, [width, fill = ' '], budget) =>
    join(text, repeatText(stringOf(fill), integerOf(width) - lengthOf(text), budget)),
  );

export const stringMethods = byName<StringMethod>({
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  casefold: (text) => text.toLowerCase(),
  capitalize: (text) => capitalize(text),
  title: (text) => text.replace(/\p{L}+/gu, capitalize),
  strip: strip(true, true),
  lstrip: strip(true, false),
  rstrip: strip(false, true),
  split: split(false),
  rsplit: split(true),
  splitlines: takes(['keepends?'], (text, [keepEnds = false]) => splitLines(text, isTrue(keepEnds))),
  startswith: hasOne((text, prefix) => text.startsWith(prefix)),
  endswith: hasOne((text, suffix) => text.endsWith(suffix)),
  replace: takes(['old', 'new', 'count?'], replaceText),
  removeprefix: takes(['text'], (text, [prefix]) =>
    text.startsWith(stringOf(prefix)) ? text.slice(stringOf(prefix).length) : text,
  ),
  removesuffix: takes(['text'], (text, [suffix]) =>
    text.endsWith(stringOf(suffix)) ? text.slice(0, text.length - stringOf(suffix).length) : text,
  ),
  find: search((text, part) => codePointIndex(text, text.indexOf(part))),
  rfind: search((text, part) => codePointIndex(text, text.lastIndexOf(part))),
  index: search((text, part) => requireFound(codePointIndex(text, text.indexOf(part)))),
  rindex: search((text, part) => requireFound(codePointIndex(text, text.lastIndexOf(part)))),
  count: takes(['text'], (text, [part], budget) => splitText(text, stringOf(part), Infinity, budget).length - 1),
  partition: search((text, separator) => partition(text, separator, text.indexOf(separator))),
  rpartition: search((text, separator) => {
    const at = text.lastIndexOf(separator);
    return at < 0 ? new Tuple(['', '', text]) : partition(text, separator, at);
  }),
  join: takes(['iterable?'], (text, [iterable = null], budget) => {
    const items = iterate(iterable).map(stringOf);
    budget.spendText(items.reduce((length, item) => length + item.length + text.length, 0));
    return items.join(text);
  }),
  format: formatBraces,
  ljust: pad((text, padding) => text + padding),
  rjust: pad((text, padding) => padding + text),
  zfill: takes(['width'], zeroFill),
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isdecimal: (text) => /^\p{Nd}+$/u.test(text),
  isnumeric: (text) => /^\p{N}+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isspace: (text) => text !== '' && [...text].every(isWhitespace),
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
});

/** The first character in upper case, the others in lower case. */
export function capitalize(text: string): string {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

/** A text without some characters at its ends; null: without white space. */
export function stripText(text: string, characters: Value, atStart = true, atEnd = true): string {
  const stripped = characters === null ? undefined : new Set(stringOf(characters));
  const isStripped = stripped ? (character: string) => stripped.has(character) : isWhitespace;
  const rest = atStart ? stripStart(text, isStripped) : text;
  return atEnd ? stripEnd(rest, isStripped) : rest;
}

/** A text with a part replaced by another, all times or the first few. */
export function replaceText(
  text: string,
  [old, replacement, count = -1]: readonly [Value, Value, Value | undefined],
  budget: StepBudget,
): string {
  const by = stringOf(replacement);
  const limit = count === null || integerOf(count) < 0 ? Infinity : integerOf(count);
  const parts = splitText(text, stringOf(old), limit, budget);
  budget.spendText(text.length + parts.length * by.length);
  return parts.join(by);
}

const codePointIndex = (text: string, index: number): number => (index < 0 ? -1 : lengthOf(text.slice(0, index)));

function requireFound(index: number): number {
  if (index < 0) throw new Error('substring not found');
  return index;
}

function partition(text: string, separator: string, at: number): Tuple {
  if (at < 0) return new Tuple([text, '', '']);
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function zeroFill(text: string, [width]: readonly [Value], budget: StepBudget): string {
  const sign = /^[-+]?/.exec(text)?.[0] ?? '';
  const zeros = repeatText('0', integerOf(width) - lengthOf(text), budget);
  return sign + zeros + text.slice(sign.length);
}
