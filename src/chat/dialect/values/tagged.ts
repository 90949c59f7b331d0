import { endsWithinMark, findMark, matchMarkAfterSpace } from '../looseMark.ts';
import type { SearchedText, TextRange } from '../../markSearch.ts';
import type { ParameterLayout, ValueStyle } from '../layout.ts';
import type { MarkPair } from '../../replyMarks.ts';
import { readKey } from './parameterKey.ts';
import type { ValueNotation, ValuePosition, ValueRead } from './valueNotation.ts';
import { jsonStyle, onceForLimits } from '../../grammar/jsonRules.ts';
import { textWithout } from '../../grammar/textWithout.ts';
import { parseJsonAt, parseJsonText, skipWhiteSpace } from '../../json/lenientParser.ts';
import { isOfType, type JsonValue } from '../../json/value.ts';
import { expectedTypes, type ResolvedSchema } from '../../tools/resolvedSchema.ts';
import { pythonLiteralStyle, spellOther, textsRule } from './python.ts';

/**
 * Values between marks, as Qwen3-Coder, GLM, MiniMax and DeepSeek V3.2 write them: strings raw, all others in JSON (or as
 * `layout.style.nested` says). Where
 * the marks do not tell strings from others, the JSON Schema of the parameter does.
 *
 * A line break after the mark that opens a value and before the one that closes it belongs to the marks, unless the marks
 * tell strings from others and have none themselves.
 *
 * A grammar lets through no string that contains the mark that closes it or the mark before the next key; `textWithout`
 * says what else it forbids.
 */
export const tagged: ValueNotation = {
  name: 'tagged',
  explains: ({ style }) => style.quote === '',
  read(position) {
    const { source, start, layout } = position;
    const { text: content } = source;
    const opened = findOpen(content, start, layout);
    if (!opened) return { ok: false, truncated: endsWithinOpen(content, start, layout) };
    const { marks, end: openEnd } = opened;
    const isTyped = layout.string.open !== layout.other.open;
    const isString = isTyped && marks === layout.string;
    const bracketed = isString ? undefined : readBracketed(position, openEnd, { marks, isTyped });
    if (bracketed) return bracketed;
    const closed = findClosing(position, openEnd, marks.close);
    if (!closed) return { ok: false, truncated: true };
    const raw = withoutMarkSpace(content.slice(openEnd, closed.start), marks);
    const isUnclosed = closed.start === closed.end;
    if (isString) return { ok: true, value: raw, end: closed.end, repaired: isUnclosed };
    const { value, repaired } = isTyped ? readJsonText(raw, layout.style) : readTypedText(raw, position);
    return { ok: true, value, end: closed.end, repaired: repaired || isUnclosed };
  },
  spell: (value, style) => (typeof value === 'string' ? value : spellOther(value, style)),
  rules(layout) {
    const avoided = [...new Set([layout.string.close, layout.key].map((mark) => mark.trim()))].filter(Boolean);
    const nested = layout.style.nested === 'python' ? pythonLiteralStyle(layout.style) : jsonStyle;
    return {
      ...nested,
      nested,
      string: onceForLimits((limits) => textWithout(avoided, limits)),
      formatted: (content) => content,
      values: (values) => textsRule(values.map((value) => tagged.spell(value, layout.style))),
      problemOf(content) {
        const contained = avoided.filter((mark) => content.includes(mark));
        return contained.length > 0 ? `contains a mark of the tool-call format: ${contained.join(', ')}` : undefined;
      },
    };
  },
};

/** A list or an object that is JSON up to the mark that closes it: what its strings contain ends no value. */
function readBracketed(
  { source, schema, layout }: ValuePosition,
  start: number,
  { marks, isTyped }: { readonly marks: MarkPair; readonly isTyped: boolean },
): ValueRead | undefined {
  const index = skipWhiteSpace(source.text, start);
  if (source.text[index] !== '{' && source.text[index] !== '[') return undefined;
  const parsed = parseJsonAt(source.text, index, { lenient: layout.style.nested === 'python' });
  const end = parsed.ok ? matchMarkAfterSpace(marks.close, source.text, parsed.end) : undefined;
  if (!parsed.ok || end === undefined) return undefined;
  const types = isTyped ? undefined : expectedTypes(schema);
  const isText = types?.has('string') && !isExpected(parsed.value, types);
  return isText ? undefined : { ok: true, value: parsed.value, end, repaired: false };
}

/** The mark before a value, of a string or of another value: the longer one of those that stand there. */
function findOpen(content: string, start: number, { string, other }: ParameterLayout) {
  const stringEnd = matchMarkAfterSpace(string.open, content, start);
  const otherEnd = matchMarkAfterSpace(other.open, content, start);
  if (otherEnd !== undefined && otherEnd > (stringEnd ?? 0)) return { marks: other, end: otherEnd };
  return stringEnd === undefined ? undefined : { marks: string, end: stringEnd };
}

function endsWithinOpen(content: string, start: number, { string, other }: ParameterLayout): boolean {
  const index = skipWhiteSpace(content, start);
  return index === content.length || [string, other].some(({ open }) => endsWithinMark(open, content, index));
}

/** A value without the white space that belongs to the marks. Any other is part of the value. */
function withoutMarkSpace(value: string, { open, close }: MarkPair): string {
  const trailing = open.trim() === '' ? '' : open.slice(open.trimEnd().length);
  const leading = close.slice(0, close.length - close.trimStart().length);
  const rest = trailing !== '' && value.startsWith(trailing) ? value.slice(trailing.length) : value;
  return leading !== '' && rest.endsWith(leading) ? rest.slice(0, rest.length - leading.length) : rest;
}

/**
 * Finds the mark that closes a value between marks, empty where it is missing. The value may contain the same mark:
 *
 * | what is found                                                       | the value ends at             |
 * | ------------------------------------------------------------------- | ----------------------------- |
 * | the next parameter, by its declared key, before any closing mark    | that parameter (unclosed)     |
 * | a closing mark right before the next parameter or the end of all    | that closing mark             |
 * | other closing marks                                                 | the first of them             |
 * | no closing mark, but a next parameter or the end of all             | whichever comes first         |
 *
 * undefined: none of these; the text ends inside the value.
 */
function findClosing(position: ValuePosition, start: number, close: string): TextRange | undefined {
  const { source, layout, after, nextKeys } = position;
  const { key } = layout;
  const first = findMark(close, source, start);
  const nextMark = (from: number): number =>
    Math.min(findMark(key, source, from).start, findMark(after, source, from).start);
  if (first.start === Infinity) {
    const stop = nextMark(start);
    return stop === Infinity ? undefined : unclosed(stop);
  }
  const nextKey = Math.min(...[...nextKeys].map((name) => findKey(source, start, layout, name)));
  if (nextKey < first.start) return unclosed(nextKey);
  const bound = nextMark(first.end);
  for (let match = first; match.start < bound; match = findMark(close, source, match.end))
    if (isFollowedBy([key, after], position, match.end)) return match;
  return first;
}

const unclosed = (index: number): TextRange => ({ start: index, end: index });

/** Index of the parameter of a name at or after an index, by its mark and its key; Infinity: none. */
function findKey(source: SearchedText, from: number, layout: ParameterLayout, name: string): number {
  const mark = layout.key + name;
  return source.find(`\0key ${name}`, from, () => {
    let match = findMark(mark, source, from);
    while (match.start !== Infinity && readKey(source.text, match.end - name.length, layout)?.name !== name)
      match = findMark(mark, source, match.end);
    return match.start;
  });
}

function isFollowedBy(marks: readonly string[], { source, layout }: ValuePosition, index: number): boolean {
  const start = matchMarkAfterSpace(layout.separator, source.text, index) ?? index;
  return marks.some((mark) => mark.trim() !== '' && matchMarkAfterSpace(mark, source.text, start) !== undefined);
}

/** Repaired: it was no strict JSON where it had to be. */
type TypedText = Pick<ValueRead, 'value' | 'repaired'>;

/**
 * The value of a raw text by its schema:
 *
 * | the schema allows     | the value is                                                                      |
 * | --------------------- | --------------------------------------------------------------------------------- |
 * | only strings          | the text, but null where it may be null, unless the text is the declared default  |
 * | no string             | JSON, else lenient JSON (Python's literals included), else the text               |
 * | strings and others    | the text, unless it is JSON of one of the other types                             |
 * | anything, or unknown  | the text, unless it is a number, a boolean, null, a list or an object in JSON     |
 *
 * A text in a CDATA section of XML (MiniCPM5) is what the section holds: a string wherever the schema allows one.
 */
function readTypedText(text: string, position: ValuePosition): TypedText {
  const types = expectedTypes(position.schema);
  const section = cdataContent(text);
  if (types && !types.has('string')) return readJsonText(section ?? text, position.layout.style);
  return section === undefined ? readMixed(text, position, types) : { value: section, repaired: false };
}

/** What a CDATA section holds; undefined: the text is none. */
function cdataContent(text: string): string | undefined {
  const content = text.trim();
  const isSection = content.startsWith('<![CDATA[') && content.endsWith(']]>');
  return isSection ? content.slice('<![CDATA['.length, -']]>'.length) : undefined;
}

/** The value of a raw text that is JSON; the text itself where it is not. */
function readJsonText(text: string, style: ValueStyle): TypedText {
  const content = text.trim();
  const value = parseStrict(content, style);
  if (value !== undefined) return { value, repaired: false };
  const repaired = parseJsonText(content, true);
  return { value: repaired ?? text, repaired: repaired !== undefined };
}

function readMixed(
  text: string,
  { schema, mayBeNull, layout: { style } }: ValuePosition,
  types: ReadonlySet<string> | undefined,
): TypedText {
  const strings = fixedStrings(schema);
  const content = text.trim();
  // A declaration may name "null" as a text: its template writes None for null.
  if (strings.includes(text) || schema?.defaults?.includes(text)) return { value: text, repaired: false };
  if (strings.includes(content)) return { value: content, repaired: true };
  if (mayBeNull && [style.null, 'null', 'None'].includes(content)) return { value: null, repaired: false };
  if (types?.size === 1) return { value: text, repaired: false };
  const isOther = (value: JsonValue | undefined): value is JsonValue =>
    value !== undefined && typeof value !== 'string' && (!types || isExpected(value, types));
  const strict = parseStrict(content, style);
  if (isOther(strict)) return { value: strict, repaired: false };
  const lenient = types || /^[[{]/.test(content) ? parseJsonText(content, true) : undefined;
  return isOther(lenient) ? { value: lenient, repaired: true } : { value: text, repaired: false };
}

function parseStrict(content: string, style: ValueStyle): JsonValue | undefined {
  if (content === '') return undefined;
  if (content === style.true) return true;
  if (content === style.false) return false;
  return content === style.null ? null : parseJsonText(content);
}

const fixedStrings = (schema: ResolvedSchema | undefined): readonly string[] =>
  (schema?.anyOf ?? [schema]).flatMap((each) => each?.enum ?? []).filter((value) => typeof value === 'string');

const isExpected = (value: JsonValue, types: ReadonlySet<string>): boolean =>
  [...types].some((type) => isOfType(value, type));
