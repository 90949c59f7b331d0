import { memoized } from '../../../base/memoized.ts';
import type { RepetitionLimits, RuleStyle } from '../../grammar/jsonRules.ts';
import { hexCodePoint, jsonStyle, onceForLimits } from '../../grammar/jsonRules.ts';
import { all, any, anyOf, char, list, many, object, type Rule, text, withKeys } from '../../grammar/rule.ts';
import { charExcept } from '../../grammar/textWithout.ts';
import { endOfMatch, parseJsonAt, skipWhiteSpace } from '../../json/lenientParser.ts';
import { JsonNumber, membersOf, stringifyJson } from '../../json/value.ts';
import type { ValueStyle } from '../layout.ts';
import type { SearchedText } from '../../markSearch.ts';
import { type LiteralPlace, type QuotedString, readLiteral } from './literalReader.ts';
import { anyValue, onceForDepth, type ValueNotation } from './valueNotation.ts';

/**
 * Values of the arguments of a Python call, as LFM2 writes them: strings in quotes (`layout.style.quote`), True, False,
 * None, numbers; lists, tuples, sets and dicts in Python or JSON. What Python would have to compute is no value. Reading takes both quotes, both spellings of literals, line breaks in
 * strings, strings whose own quotes are not escaped, and text without quotes (repaired).
 *
 * A grammar lets through a quote within a string where neither white space nor what may follow a string comes after it
 * (a comma, a bracket, another string), but none in a string with a limited length.
 */
export const python: ValueNotation = {
  name: 'python',
  explains: ({ style }) => /^["']$/.test(style.quote),
  read: (position) => readLiteral(position, { string: readPythonString, isPython: true }),
  spell: (value, style) =>
    typeof value === 'string' ? writePythonString(value, style.quote) : spellOther(value, style),
  rules({ style }) {
    const nested = pythonLiteralStyle(style);
    return {
      ...nested,
      nested,
      string: onceForLimits((limits) => quotedText(style.quote, limits)),
      formatted: memoized((content) => all(text(style.quote), content, text(style.quote))),
      values: (values) => textsRule(values.map((value) => python.spell(value, style))),
    };
  },
};

// Before the quote of a string; white space of the reader that no template writes.
const prefixLetters = 'rRbBfFuU';
const otherSpaces =
  '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

/** A string as templates write it: raw, with quotes of its own that cannot be taken for its end. */
function quotedText(quote: string, limits: RepetitionLimits): Rule {
  if (limits.max !== undefined) return limitedText(quote, limits);
  const whiteSpace = many(char(' ', '\n', '\t'), { min: 1 });
  const letter = char(...prefixLetters);
  const next = charExcept([...`${otherSpaces} \n\t\r\\"'+,)]}:;<${prefixLetters}`]);
  const noPrefix = all(many(letter, { min: 1, max: 2 }), charExcept([...`\\"'${prefixLetters}`]));
  const word = any(next, noPrefix, all(letter, letter, letter));
  const ownQuote = all(text(quote), any(next, letter, all(whiteSpace, word)));
  const character = any(charExcept([quote, '\\']), all(text('\\'), charExcept([])), ownQuote);
  return all(text(quote), many(character, limits), text(quote));
}

/**
 * Reads the Python string that begins with a quote at an index. Templates write strings without escaping their quotes, so
 * a quote closes only where the call can go on after it. The first quote counts, of those
 *
 * 1. after which comes what has to come at this place: the next argument's name, the next item, the end of the call ...
 * 2. after which comes any of `,` `)` `]` `}` `:`
 * 3. as 1, but with a backslash before the quote.
 *
 * A string with which something is done is no literal. undefined: no quote stands there. A string that is not closed ends at
 * Infinity.
 */
function readPythonString(source: SearchedText, index: number, place: LiteralPlace): QuotedString | undefined {
  const start = endOfMatch(stringPrefix, source.text, index) ?? index;
  const string = readString(source, start, place);
  if (start === index || string?.value === undefined) return string;
  const prefix = source.text.slice(index, start).toLowerCase();
  const value = prefix.includes('r') ? string.raw : string.value;
  if (!prefix.includes('f')) return { ...string, value };
  const rest = value.replaceAll(/\{\{|\}\}/g, '');
  return { ...string, value: /[{}]/.test(rest) ? undefined : value.replaceAll(/\{\{|\}\}/g, (pair) => pair.charAt(0)) };
}

const stringPrefix = /(?:[rR][bBfF]?|[bBfF][rR]?|[uU])(?=["'])/y;

interface RawString extends QuotedString {
  readonly raw: string;
}

// What is done with a string.
const operator = /\s{0,8}(?:[+*%[]|\.[a-z])/y;
const unclosed: RawString = { value: '', raw: '', end: Infinity, repaired: false };

const toString = (raw: string, end: number, repaired: boolean): RawString => ({
  value: decode(raw),
  raw,
  end,
  repaired,
});

function readString(source: SearchedText, index: number, place: LiteralPlace): RawString | undefined {
  const { text } = source;
  const quote = text[index];
  if (quote !== '"' && quote !== "'") return undefined;
  const triple = quote.repeat(3);
  if (text.startsWith(triple, index)) {
    const end = source.indexOf(triple, index + triple.length);
    return end === Infinity ? unclosed : toString(text.slice(index + triple.length, end), end + triple.length, false);
  }
  if (quote === '"' && place !== 'argument') {
    // JSON has other escapes.
    const parsed = parseJsonAt(text, index);
    if (parsed.ok && typeof parsed.value === 'string' && canFollow(text, parsed.end, place))
      return { value: parsed.value, raw: text.slice(index + 1, parsed.end - 1), end: parsed.end, repaired: false };
  }
  const search = (rule: string, isClosing: (at: number) => boolean): number =>
    source.find(`\0${rule}${quote}`, index + 1, () => {
      let at = text.indexOf(quote, index + 1);
      while (at >= 0 && !isClosing(at)) at = text.indexOf(quote, at + 1);
      return at < 0 ? Infinity : at;
    });
  const searches = [
    () => search(place, (at) => !isEscaped(text, at) && canFollow(text, at + 1, place)),
    () => search('any', (at) => !isEscaped(text, at) && ',)]}:'.includes(text[skipWhiteSpace(text, at + 1)] ?? '')),
    () => search(`escaped ${place}`, (at) => canFollow(text, at + 1, place)),
  ];
  for (const [tier, find] of searches.entries()) {
    const end = find();
    if (end !== Infinity) return toString(text.slice(index + 1, end), end + 1, tier > 0);
  }
  const computed = search('computed', (at) => !isEscaped(text, at) && endOfMatch(operator, text, at + 1) !== undefined);
  return computed === Infinity ? unclosed : { ...unclosed, end: computed + 1, value: undefined };
}

/** What may follow a string, by its place. A `)` ends a call: another call, a closing mark or nothing follows. */
const followers: Readonly<Record<LiteralPlace, RegExp>> = {
  argument: /(?:$|\)\s{0,64}(?:$|[,;\])}<\n])|,\s{0,64}(?:$|\)|[\p{L}_$][\p{L}\p{M}\p{N}_.$-]{0,64}\s{0,8}=(?!=)))/uy,
  item: /(?:$|[\])]|,\s{0,64}(?:$|[-\d'"[{(\])]|true\b|false\b|null\b|True\b|False\b|None\b))/uy,
  key: /(?:$|:)/uy,
  member: /(?:$|\}|,\s{0,64}(?:$|['"}]))/uy,
};

// Another string makes one with it.
const joined = /(?:\s{0,64}\+\s{0,64}|\s{1,64})[rRbBfFuU]{0,2}["']/y;

const canFollow = (text: string, index: number, place: LiteralPlace): boolean =>
  (place !== 'key' && endOfMatch(joined, text, index) !== undefined) ||
  endOfMatch(followers[place], text, skipWhiteSpace(text, index)) !== undefined;

function isEscaped(text: string, index: number): boolean {
  let start = index;
  while (text[start - 1] === '\\') start--;
  return (index - start) % 2 === 1;
}

const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({ n: '\n', r: '\r', t: '\t', '"': '"', "'": "'", '\\': '\\' }),
);

/** Decodes escapes; both characters of an unknown one stay. */
const decode = (content: string): string =>
  content.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (escape, digits: string | undefined, character: string) =>
    digits === undefined ? (escapes.get(character) ?? escape) : String.fromCharCode(parseInt(digits, 16)),
  );

const writePythonString = (content: string, quote: string): string =>
  quote +
  content.replaceAll(/[\\'"\n\r\t]/g, (character) =>
    (character === '"' || character === "'") && character !== quote
      ? character
      : `\\${escapeNames.get(character) ?? character}`,
  ) +
  quote;

const escapeNames = new Map([...escapes].map(([name, character]) => [character, name]));

/** A value as Python's `repr` writes it; takes plain data too. */
function pythonLiteral(value: unknown): string {
  if (typeof value === 'string')
    return writePythonString(value, value.includes("'") && !value.includes('"') ? '"' : "'");
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value instanceof JsonNumber || typeof value === 'number') return stringifyJson(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  return `{${membersOf(value as object)
    .map(([key, member]) => `${pythonLiteral(key)}: ${pythonLiteral(member)}`)
    .join(', ')}}`;
}

/** A value that is no string, as templates write it: lists and objects as JSON, or as a style says. */
export function spellOther(value: unknown, style: ValueStyle): string {
  if (value === null) return style.null;
  if (typeof value === 'boolean') return value ? style.true : style.false;
  return style.nested === 'python' ? pythonLiteral(value) : stringifyJson(value);
}

/** Values in lists and dicts: in Python or in JSON. */
export function pythonLiteralStyle(written: Pick<ValueStyle, 'true' | 'false' | 'null'>): RuleStyle {
  const apostrophe = text("'");
  const style: RuleStyle = {
    boolean: textsRule([written.true, written.false, 'true', 'false']),
    null: textsRule([written.null, 'null']),
    string: onceForLimits((limits) => any(jsonStyle.string(limits), limitedText("'", limits))),
    formatted: memoized((content) => any(jsonStyle.formatted(content), all(apostrophe, content, apostrophe))),
    number: (rule) => rule,
    list,
    object: (members) =>
      object(withKeys(members, (key) => all(textsRule([JSON.stringify(key), pythonLiteral(key)]), text(': ')))),
    any: onceForDepth((depth) => anyValue(style, depth)),
    anyObject: onceForDepth((depth) =>
      all(
        text('{'),
        many(all(style.string({ min: 0 }), text(': '), style.any(depth)), { min: 0, separator: ', ' }),
        text('}'),
      ),
    ),
    values: (values) => textsRule(values.flatMap((value) => [stringifyJson(value), pythonLiteral(value)])),
  };
  return style;
}

export const textsRule = (texts: readonly string[]): Rule => anyOf([...new Set(texts)].map(text));

const escape = all(text('\\'), any(char('n', 'r', 't', '"', "'", '\\'), all(text('u'), hexCodePoint)));

const limitedText = (quote: string, limits: RepetitionLimits): Rule =>
  all(text(quote), many(any(charExcept([quote, '\\']), escape), limits), text(quote));
