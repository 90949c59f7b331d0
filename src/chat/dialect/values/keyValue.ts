import { memoized } from '../../../base/memoized.ts';
import { parseJsonAt, skipWhiteSpace } from '../../json/lenientParser.ts';
import { JsonNumber, membersOf, stringifyJson } from '../../json/value.ts';
import { onceForLimits, type RuleStyle } from '../../grammar/jsonRules.ts';
import { all, anyOf, char, many, object, text, type Rule, withKeys } from '../../grammar/rule.ts';
import { textWithout } from '../../grammar/textWithout.ts';
import { literalRule, type ValueStyle } from '../layout.ts';
import type { SearchedText } from '../../markSearch.ts';
import { findMark } from '../looseMark.ts';
import { readLiteral, type LiteralSyntax, type QuotedString } from './literalReader.ts';
import { anyValue, booleanRule, onceForDepth, type ValueNotation } from './valueNotation.ts';

/**
 * Values as Gemma 4 and FunctionGemma write them: strings raw between a mark on each side (`layout.style.quote`), lists
 * and objects with bare keys and without spaces: `{theme:<|"|>dark<|"|>,sizes:[1,2]}`. Reading takes strings in JSON, and
 * text without quotes, too (repaired).
 *
 * A grammar lets through no string that contains the mark; `textWithout` says what else it forbids.
 */
export const keyValue: ValueNotation = {
  name: 'keyValue',
  explains: ({ style }) => !/^["']?$/.test(style.quote),
  read: (position) => readLiteral(position, syntaxOf(position.layout.style.quote, position.after)),
  spell,
  rules: ({ style }) => styleOf(style),
};

const syntaxOf = (quote: string, after: string): LiteralSyntax => ({
  string(source, index) {
    const { text: content } = source;
    if (content.startsWith(quote, index)) return readMarked(source, index, quote, after);
    if (content[index] !== '"' && content[index] !== "'") return undefined;
    const parsed = parseJsonAt(content, index, { lenient: true });
    return parsed.ok
      ? { value: String(parsed.value), end: parsed.end, repaired: true }
      : { value: '', end: Infinity, repaired: true };
  },
});

/** A string between marks; where the mark that closes it is missing, it ends with the arguments. */
function readMarked(source: SearchedText, index: number, quote: string, after: string): QuotedString {
  const { text: content } = source;
  const start = index + quote.length;
  const close = source.indexOf(quote, start);
  const next = close === Infinity ? '' : content[skipWhiteSpace(content, close + quote.length)];
  const isClosed = close !== Infinity && (next === undefined || ',}]):'.includes(next));
  const stop = isClosed ? Infinity : findMark(after, source, start).start;
  const end = Math.min(close, stop);
  return {
    value: end === Infinity ? '' : content.slice(start, end),
    end: end === close ? close + quote.length : end,
    repaired: end !== close,
  };
}

const plainKey = /^[\p{L}_$][\p{L}\p{M}\p{N}_.$-]*$/u;

function spell(value: unknown, style: ValueStyle): string {
  if (typeof value === 'string') return `${style.quote}${value}${style.quote}`;
  if (value === null) return style.null;
  if (typeof value === 'boolean') return value ? style.true : style.false;
  if (value instanceof JsonNumber || typeof value === 'number') return stringifyJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => spell(item, style)).join(',')}]`;
  return `{${membersOf(value as object)
    .map(([key, member]) => `${plainKey.test(key) ? key : spell(key, style)}:${spell(member, style)}`)
    .join(',')}}`;
}

function styleOf(written: ValueStyle): RuleStyle {
  const mark = literalRule(written.quote);
  const inMarks = memoized((content: Rule) => all(mark, content, mark));
  const bareKey = all(char('a-z', 'A-Z', '_'), many(char('a-z', 'A-Z', '0-9', '_', '-'), { min: 0, max: 64 }));
  const style: RuleStyle = {
    boolean: booleanRule(written),
    null: text(written.null),
    string: onceForLimits((limits) => inMarks(textWithout([written.quote], limits))),
    formatted: inMarks,
    number: (rule) => rule,
    list: (item, limits) => all(text('['), many(item, { ...limits, separator: ',' }), text(']')),
    object: (members) =>
      object(
        withKeys(members, (key) => keyRule(key, mark)),
        text(','),
      ),
    any: onceForDepth((depth) => anyValue(style, depth)),
    anyObject: onceForDepth((depth) =>
      all(text('{'), many(all(bareKey, text(':'), style.any(depth)), { min: 0, separator: ',' }), text('}')),
    ),
    values: (values) => anyOf(values.map((value) => valueRule(value, mark, written))),
    problemOf: (content) =>
      content.includes(written.quote)
        ? `contains the mark of strings of the tool-call format: ${written.quote}`
        : undefined,
  };
  return style;
}

const keyRule = (key: string, mark: Rule): Rule =>
  plainKey.test(key) ? text(`${key}:`) : all(mark, text(key), mark, text(':'));

/** The rule of one value. Only the marks of strings are control tokens, whatever the strings contain. */
function valueRule(value: unknown, mark: Rule, written: ValueStyle): Rule {
  if (typeof value === 'string') return all(mark, text(value), mark);
  if (typeof value !== 'object' || value === null) return text(spell(value, written));
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => valueRule(item, mark, written))
    : membersOf(value).map(([key, member]) => all(keyRule(key, mark), valueRule(member, mark, written)));
  const separated = parts.flatMap((part, index) => (index > 0 ? [text(','), part] : [part]));
  return all(text(isList ? '[' : '{'), ...separated, text(isList ? ']' : '}'));
}
