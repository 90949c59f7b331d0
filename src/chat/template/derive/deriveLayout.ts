import { parseJsonAt } from '../../json/lenientParser.ts';
import { isJsonObject, stringifyJson, type JsonObject, type JsonValue } from '../../json/value.ts';
import type { CallLayout, LayoutPart, ParameterLayout, ParameterMarks, ValueStyle } from '../../dialect/layout.ts';
import { isMark, lexemes } from '../../dialect/layout.ts';
import type { CallKeys } from '../../reply/detect/callShape.ts';
import { createReasoningSkipper, visibleStart } from '../../reply/reasoning/splitReply.ts';
import type { TextRange } from '../../markSearch.ts';
import { commonEnd, commonStart, deriveListMarks, locateJson, locateText, withoutEnd } from './texts.ts';
import { UnknownLayout, type CallSample, type LayoutSamples } from './probes.ts';
import type { MarkPair } from '../../replyMarks.ts';
import { valueNotations } from '../../dialect/values/index.ts';

/**
 * Derives how a chat template writes calls, from messages that differ in one thing only. Where its values can be in
 * several notations, there is a layout for each.
 * @throws UnknownLayout with the reason when the template writes them in no notation that is known.
 */
export function deriveLayouts(samples: LayoutSamples): CandidateLayouts {
  const { one, two } = samples;
  const { layouts, locate } = deriveArguments(samples);
  const [only] = splitCalls(one, locate);
  const pair = two && splitCalls(two, locate);
  if (!only) throw new UnknownLayout('the message has no call');
  const [first, second] = pair ?? [];
  const frame = first && second ? frameOfTwo(only, first, second, samples) : frameOfOne(only, samples);
  checkLength(frame);
  const withArguments = (layout: ParameterLayout | undefined): CallLayout => ({
    ...frame,
    arguments: layout ?? { kind: 'json', keys: keysOf(frame, one) },
  });
  const [likeliest, ...others] = layouts;
  return [withArguments(likeliest), ...others.map(withArguments)];
}

// UTF-16 units around a call. Known families have less than 200; the time to read a reply grows with the marks in it.
const maxFrameLength = 2048;

function checkLength({ header, open, close, separator = '', end, before, between, after }: Frame): void {
  const parts = [header, open, close, separator, end, writeParts(before), writeParts(between), writeParts(after)];
  if (parts.join('').length > maxFrameLength)
    throw new UnknownLayout(`there are more than ${maxFrameLength} characters around a call`);
}

/** Layouts that explain the same messages; the first is the likeliest. */
export type CandidateLayouts = readonly [CallLayout, ...CallLayout[]];

function keysOf({ before, between, after }: Frame, { calls: [call] }: CallSample): CallKeys | undefined {
  const { name = '', arguments: args = {} } = call ?? {};
  const json = stringifyJson(args);
  const written = [writeParts(before), name, writeParts(between), json, writeParts(after)].join('');
  return callObjectKeys(written, name, (value) => stringifyJson(value) === json);
}

type LocateArguments = (text: string, call: CallSample['calls'][number], nameEnd: number) => TextRange | undefined;

/** The layouts that the arguments can have, and how to find them in a text; undefined: they are JSON. */
function deriveArguments(samples: LayoutSamples): {
  readonly layouts: readonly [ParameterLayout | undefined, ...ParameterLayout[]];
  readonly locate: LocateArguments;
} {
  const { one } = samples;
  const [call] = one.calls;
  const name = locateText(one.text, call?.name ?? '', 0);
  if (!call || !name) throw new UnknownLayout('the name of the called tool is not in the message');
  if (locateJson(one.text, call.arguments, name.end))
    return {
      layouts: [undefined],
      locate: (text, { arguments: args }, nameEnd) => locateJson(text, args, nameEnd),
    };
  const layouts = deriveParameters(samples);
  const [{ string, style }] = layouts;
  const close = string.close === '' ? style.quote : string.close;
  const locate: LocateArguments = (text, { arguments: args }, nameEnd) => {
    let end: number | undefined = nameEnd;
    for (const value of Object.values(args)) end = end === undefined ? end : locateText(text, String(value), end)?.end;
    return end === undefined ? undefined : { start: nameEnd, end: end + close.length };
  };
  return { layouts, locate };
}

type SplitCall = ReturnType<typeof splitCalls>[number];

function splitCalls({ text: source, calls }: CallSample, locate: LocateArguments) {
  const text = markIds(source, calls);
  let from = 0;
  return calls.map((call) => {
    const name = locateText(text, call.name, from);
    const args = name && locate(text, call, name.end);
    if (!name || !args) throw new UnknownLayout(`the call of "${call.name}" is not in the message as it was given`);
    /** From the end of the call before, or from the start of the message. */
    const before = text.slice(from, name.start);
    from = args.end;
    /** `after`: to the end of the message. */
    return { before, between: text.slice(name.end, args.start), after: text.slice(from) };
  });
}

type Frame = Omit<CallLayout, 'arguments'>;

/** The text around calls, of a template that writes only one in a message. */
function frameOfOne(only: SplitCall, samples: LayoutSamples): Frame {
  const { header, opening } = splitOpening(only.before, samples);
  return {
    header,
    open: '',
    close: '',
    separator: undefined,
    end: endOfMessage(samples),
    before: toParts(opening),
    between: toParts(only.between),
    after: toParts(withoutEndOfMessage(only.after, samples)),
  };
}

function frameOfTwo(only: SplitCall, first: SplitCall, second: SplitCall, samples: LayoutSamples): Frame {
  const end = withoutEndOfMessage(second.after, samples);
  const { header, opening: before } = splitOpening(only.before, samples);
  const betweenCalls = second.before;
  const lists = [...withIndexMarks(before, betweenCalls)].flatMap(([marked, next]) => {
    const list = deriveListMarks(marked, next, end);
    return [...withIndexMarks(first.between, second.between)].map(([between, other]) => ({ list, between, other }));
  });
  const matching = lists.filter(({ between, other }) => between === other);
  const [best] = matching.sort((a, b) => b.list.item.open.length - a.list.item.open.length);
  if (!best) throw new UnknownLayout('the second call is written in another way than the first');
  const { list, between } = best;
  return {
    header,
    open: list.open,
    // What follows the last call closes something only where something was opened: else it ends the message.
    close: list.open.trim() === '' || !only.after.includes(list.close) ? '' : list.close,
    separator: list.separator,
    end: endOfMessage(samples),
    before: toParts(list.item.open),
    between: toParts(between),
    after: toParts(list.item.close),
  };
}

/**
 * What stands before the first call, split where the call begins: what other messages start with, too, belongs to the
 * message, and so does an empty block of reasoning, which is left out. Where the template writes text or reasoning before
 * the call, the call begins after it.
 */
function splitOpening(before: string, samples: LayoutSamples): { readonly header: string; readonly opening: string } {
  const opening = withoutPreceding(before, samples);
  const rest = before.slice(0, before.length - opening.length);
  const header = rest.slice(visibleStart(rest, 0, createReasoningSkipper(rest, samples.marks)));
  return { header: toParts(header).length > 1 ? '' : header, opening };
}

function withoutPreceding(before: string, { plain, preceded, one }: LayoutSamples): string {
  const [name] = one.calls.map((call) => call.name);
  const header = plain.text.slice(0, Math.max(0, plain.text.indexOf(plain.answer)));
  let opening = before.slice(commonStart(before, header).length);
  for (const { text, preceding } of preceded) {
    const start = text.indexOf(preceding);
    const end = text.indexOf(name ?? '', start);
    if (start < 0 || end < 0) continue;
    const between = markIds(text, one.calls).slice(start + preceding.length);
    const tail = between.slice(0, between.indexOf(name ?? ''));
    const common = commonEnd(opening, tail).trimStart();
    const [closing = ''] = lexemes(tail.trimStart());
    const closesReasoning = isMark(closing) && common.startsWith(closing) && common !== opening.trimStart();
    if (common !== '') opening = closesReasoning ? common.slice(closing.length) : common;
  }
  return opening.trimStart();
}

function withoutEndOfMessage(after: string, samples: LayoutSamples): string {
  const trimmed = after.trimEnd();
  return withoutEnd(trimmed, commonEnd(trimmed, endOfMessage(samples))).trimEnd();
}

const endOfMessage = ({ plain: { text, answer } }: LayoutSamples): string =>
  text.slice(text.indexOf(answer) + answer.length).trim();

const writeParts = (parts: CallLayout['before']): string =>
  parts.map((part) => (typeof part === 'string' ? part : part.slot === 'id' ? 'a00000000' : '0')).join('');

/** The keys of a call that is a JSON object, or one in another (`{"function": {"name": ...}}`); else undefined. */
function callObjectKeys(text: string, name: string, isArguments: (value: JsonValue) => boolean): CallKeys | undefined {
  for (let start = text.indexOf('{'); start >= 0; start = text.indexOf('{', start + 1)) {
    const parsed = parseJsonAt(text, start);
    if (parsed.ok && isJsonObject(parsed.value)) return keysIn(parsed.value, name, isArguments);
  }
  return undefined;
}

function keysIn(object: JsonObject, name: string, isArguments: (value: JsonValue) => boolean): CallKeys | undefined {
  const members = [...object];
  const argumentKey = members.find(([, value]) => isArguments(value))?.[0];
  if (argumentKey === name) return { name: undefined, arguments: '' };
  const nameKey = members.find(([, value]) => value === name)?.[0];
  if (nameKey !== undefined && argumentKey !== undefined) return { name: nameKey, arguments: argumentKey };
  for (const [, value] of members) {
    const inner = isJsonObject(value) ? keysIn(value, name, isArguments) : undefined;
    if (inner) return inner;
  }
  return undefined;
}

// Private-use characters in place of an id and of the number of a call, so that texts of different calls compare equal.
const idMark = '\uE0F0';
const indexMark = '\uE0F1';

const markIds = (text: string, calls: CallSample['calls']): string =>
  calls.reduce((marked, { id }) => marked.replaceAll(id, idMark), text);

const lastNumber = (number: number): RegExp => new RegExp(`(?<![\\d.])${number}(?![\\d.])(?=[^\\d]*$)`);

/** Two texts that belong to the first and to the second call, with their numbers (0 and 1, or 1 and 2) marked. */
function* withIndexMarks(first: string, second: string): Generator<readonly [first: string, second: string]> {
  yield [first, second];
  for (const start of [0, 1]) {
    const [inFirst, inSecond] = [lastNumber(start), lastNumber(start + 1)];
    if (inFirst.test(first) && inSecond.test(second))
      yield [first.replace(inFirst, indexMark), second.replace(inSecond, indexMark)];
  }
}

const toParts = (text: string): readonly LayoutPart[] =>
  text
    .split(/([\uE0F0\uE0F1])/)
    .filter((part) => part !== '')
    .map((part) =>
      part === idMark ? { slot: 'id' as const } : part === indexMark ? { slot: 'index' as const } : part,
    );

/**
 * Reads the marks of parameters off a call whose arguments are a string, a number and a string: a layout for each
 * notation in which the values can be written.
 * @throws UnknownLayout when they do not stand one after the other, or are in no notation that is known.
 */
function deriveParameters(samples: LayoutSamples): readonly [ParameterLayout, ...ParameterLayout[]] {
  const marks = deriveMarks(samples);
  const notations = [...valueNotations.values()].filter((notation) => notation.explains(marks));
  const [first, ...others] = notations.map(({ name }): ParameterLayout => ({ ...marks, values: name }));
  if (!first) throw new UnknownLayout('the values are written in no notation that is known');
  return [first, ...others];
}

function deriveMarks({ one, empty, list, literals }: LayoutSamples): ParameterMarks {
  const { text } = one;
  const { nameEnd, parameters } = locateParameters(one);
  const [first, second, third] = parameters;
  if (!first || !second || !third) throw new UnknownLayout('a key or a value is missing');
  const before = text.slice(nameEnd, first.key.start);
  const afterString = text.slice(first.value.end, second.key.start);
  const afterOther = text.slice(second.value.end, third.key.start);
  const key = commonEnd(before, commonEnd(afterString, afterOther)).trimStart();
  const closeAndSeparator = withoutEnd(afterString, key);
  const close = commonStart(closeAndSeparator, text.slice(third.value.end)).trimEnd();
  const separator = closeAndSeparator.slice(close.length);
  const end = third.value.end + close.length;
  const openOf = (parameter: PlacedParameter): string => text.slice(parameter.key.end, parameter.value.start);
  const string = { open: openOf(first), close };
  const other = { open: openOf(second), close: withoutEnd(withoutEnd(afterOther, key), separator) };
  // What a template writes that puts an object where text is expected.
  if (before.endsWith("{'") && other.open.startsWith("':")) throw new UnknownLayout('the arguments are no JSON');
  const quote = quoteOf(string, other);
  const layout = {
    kind: 'parameters' as const,
    open: withoutEnd(before, key),
    separator,
    empty: emptyText(empty, text.slice(end)),
    key,
    string: quote === '' ? string : other,
    other,
  };
  return { ...layout, style: { quote, ...literalsOf(literals, layout), ...nestedStyleOf(list) } };
}

type PlacedParameter = Readonly<Record<'key' | 'value', TextRange>>;

function locateParameters({ text, calls: [call] }: CallSample) {
  const parameters: PlacedParameter[] = [];
  const name = locateText(text, call?.name ?? '', 0);
  if (!call || !name) throw new UnknownLayout('the name of the tool is missing');
  let from = name.end;
  for (const [argument, content] of Object.entries(call.arguments)) {
    const key = locateText(text, argument, from);
    const value = key && locateText(text, String(content), key.end);
    if (!key || !value) throw new UnknownLayout(`the argument "${argument}" or its value is missing`);
    parameters.push({ key, value });
    from = value.end;
  }
  return { nameEnd: name.end, parameters };
}

/** What stands around a string, and not around another value. */
function quoteOf(string: MarkPair, other: MarkPair): string {
  const quote = string.open.slice(other.open.length);
  return string.open === other.open + quote && string.close === quote + other.close ? quote : '';
}

function emptyText(empty: CallSample | undefined, afterArguments: string): string {
  const nameEnd = empty && locateText(empty.text, empty.calls[0]?.name ?? '', 0)?.end;
  if (nameEnd === undefined) return '';
  const rest = empty?.text.slice(nameEnd) ?? '';
  return withoutEnd(rest, rest.endsWith(afterArguments) ? afterArguments : commonEnd(rest, afterArguments));
}

/** How lists and objects are written: as Python's `repr`, else as JSON. */
function nestedStyleOf(list: CallSample | undefined): Pick<ValueStyle, 'nested'> {
  const values = Object.values(list?.calls[0]?.arguments ?? {}).flat();
  const isRepr = values.length > 0 && values.every((value) => list?.text.includes(`'${String(value)}'`));
  return isRepr ? { nested: 'python' } : {};
}

/** How true, false and null are written; as in JSON where the template leaves them out. */
function literalsOf(
  sample: CallSample | undefined,
  { key, other }: Pick<ParameterLayout, 'key' | 'other'>,
): Omit<ValueStyle, 'quote'> {
  const literals = { true: 'true', false: 'false', null: 'null' };
  for (const [name, value] of Object.entries(sample?.calls[0]?.arguments ?? {})) {
    const text = sample?.text ?? '';
    const start = (locateText(text, key + name + other.open, 0) ?? locateText(text, name + other.open, 0))?.end;
    const word = start === undefined ? undefined : /^\w+/.exec(text.slice(start))?.[0];
    const isLiteral = word?.toLowerCase() === String(value) || (value === null && word === 'None');
    if (word !== undefined && isLiteral) literals[String(value) as keyof typeof literals] = word;
  }
  return literals;
}
