import { wholeJson } from '../markdownCode.ts';
import { commonMarkup, withoutEndTokens } from './detect/tags.ts';
import { defaultReplyMarks } from '../replyMarks.ts';
import { splitReply } from './reasoning/splitReply.ts';
import { type TextRange, withoutRanges } from '../markSearch.ts';
import { splitMarkup } from './splitMarkup.ts';
import type { MalformedCall, DetectOptions, Detection, ToolCallFormat, CallMarkup, DetectedCall } from '../tool.ts';
import { anyOfTexts } from '../../base/patterns.ts';
import { endOfMatch, quoteBareWords } from '../json/lenientParser.ts';

/** The parts of a model's reply: calls, reasoning and answer. */
export interface ParsedReply extends Detection {
  /** The answer: the text without calls, reasoning and the marks around all parts. */
  readonly content: string;
  readonly reasoning: string;
  /** The content without reasoning and without any markup of calls: what may be shown and remembered. */
  readonly answer: string;
  /** The markup that opened a call and gave none: messages to tools, then markup in the content. */
  readonly unread: readonly MalformedCall[];
}

export interface ParseReplyOptions extends DetectOptions {
  /** The end of the prompt that belongs to the reply: `<think>`, where the template has opened reasoning. Default "". */
  readonly opened?: string;
  /** Whether reasoning stays in the content, with its marks. Default false. */
  readonly keepReasoning?: boolean;
  /** Whether the answer had to be JSON: without tools it is then no call, and a code fence around it is removed. */
  readonly isJson?: boolean;
}

// A reply with more damage is not mended further.
const maxMended = 8;

/** Parses the complete reply of a model, control tokens included. Never throws. */
export function parseReply(
  text: string,
  format: ToolCallFormat,
  { opened = '', keepReasoning = false, isJson = false, ...options }: ParseReplyOptions = {},
): ParsedReply {
  const { marks = defaultReplyMarks, tools = [] } = options;
  const reply = opened + text;
  const detection =
    isJson && tools.length === 0
      ? { calls: [], residual: withoutEndTokens(reply).trim(), truncated: false }
      : format.detect(reply, options);
  const { content: untrimmed, reasoning, toolMessages } = splitReply(detection.residual, marks, keepReasoning);
  const content = untrimmed.trim();
  const parsed = { ...detection, content: (isJson && wholeJson(content)?.json) || content, reasoning };
  if (isJson && tools.length === 0) return { ...parsed, answer: parsed.content, unread: [] };
  const { residual, unread: formatMalformed = [], cutOff = '' } = detection;
  const isWhole = formatMalformed.length === 0 && !keepReasoning;
  const visible = isWhole
    ? parsed.content
    : splitReply(withoutRanges(residual, placed(formatMalformed, residual)), marks).content.trim();
  const split = (part: string, hasCalls: boolean): ReturnType<typeof splitMarkup> =>
    splitMarkup(part, format.markup ?? commonMarkup, hasCalls, {
      toolNames: new Set(tools.map(({ name }) => name)),
      isBareSearched: !isJson,
      ...(cutOff !== '' && part.endsWith(cutOff) && { cutOffAt: part.length - cutOff.length }),
    });
  const [outside, markup] = split(visible, parsed.calls.length > 0);
  const malformed = [...toolMessages.map(malformedMessage), ...formatMalformed, ...markup];
  // What the format itself has found is read as far as it may be, and what a cut-off call has in a value is no call.
  const isMendable = (part: MalformedCall, index: number): boolean =>
    index < maxMended && !formatMalformed.includes(part) && part.text !== cutOff.trim();
  const found = malformed.map((part, index) => {
    return { part, text: part.text, calls: isMendable(part, index) ? mendedCalls(part.text, format, options) : [] };
  });
  const mended = found.filter(({ calls }) => calls.length > 0);
  const read = parsed.calls.map((call) => ({ text: call.raw, calls: [withOfferedName(call, tools)] }));
  const inOrder = [...placed(read, reply), ...placed(found, reply)].toSorted((a, b) => a.start - b.start);
  const calls = inOrder.flatMap((part) => part.calls);
  // What stood around a call that was mended may be markup, too.
  const [answer, around] = mended.length > 0 ? split(outside, true) : [outside, []];
  const unread = [...found.filter((part) => !mended.includes(part)).map(({ part }) => part), ...around];
  const isSilent = calls.length === 0 && unread.length === 0 && answer === '';
  if (isSilent) unread.push(...callsInReasoning(reasoning, format, options));
  const readBlocks = placed(found, parsed.content).filter((part) => part.calls.length > 0);
  return { ...parsed, content: withoutRanges(parsed.content, readBlocks), calls, answer, unread };
}

function callsInReasoning(reasoning: string, format: ToolCallFormat, options: DetectOptions): readonly MalformedCall[] {
  const { tools = [] } = options;
  const { calls, unread = [] } = format.detect(tools.length > 0 ? reasoning : '', options);
  const offered = calls.filter((call) => tools.some(({ name }) => name === call.name)).map(({ raw }) => raw);
  const inProse = unread.map(({ text }) => text).filter((text) => tools.some(({ name }) => text.includes(name)));
  return [...offered, ...inProse].map((text) => ({ text, reason: 'it is within the reasoning, and nothing follows' }));
}

/** Parts of a text, which are in its order, with where they are; an empty range where one is not. */
function placed<Part extends { readonly text: string }>(parts: readonly Part[], text: string): (Part & TextRange)[] {
  let from = 0;
  return parts.map((part) => {
    const start = text.indexOf(part.text, from);
    if (start >= 0) from = start + part.text.length;
    return { ...part, start: start < 0 ? from : start, end: from };
  });
}

const malformedMessage = (text: string): MalformedCall => ({
  text,
  reason: `the message to ${/\bto=([^\s<[]+)/.exec(text)?.[1] ?? 'a tool'} is no call that can be read`,
});

type OfferedTools = NonNullable<DetectOptions['tools']>;

/** The calls of offered tools in malformed markup, once one mistake that models make is mended in it. */
function mendedCalls(block: string, format: ToolCallFormat, options: DetectOptions): readonly DetectedCall[] {
  const { tools = [] } = options;
  if (tools.length === 0) return [];
  for (const mended of new Set(mendings(block, format, tools))) {
    const detected = format.detect(mended, options);
    const calls = detected.calls.map((call) => withOfferedName(call, tools));
    // Of several calls, none is left aside.
    const areRead = calls.length > 0 && !/[[{(]/.test(detected.residual);
    const areOffered = calls.every((call) => tools.some(({ name }) => name === call.name));
    if (areRead && areOffered) return calls.map((call) => ({ ...call, raw: block, repaired: true }));
  }
  return [];
}

function mendings(block: string, { markup = commonMarkup }: ToolCallFormat, tools: OfferedTools): readonly string[] {
  const start = block.replace(/\{[^]*$/, '');
  const own = markup.opens.filter((mark) => !commonMarkup.opens.includes(mark));
  const marked = own.flatMap((mark) => [mark + block, mark + block.replace(/^[^\w[{]+/, '')]);
  const valued = block.replace(/<(function|parameter)(?:(?:\s+name)?\s*=\s*|>)"?([\w.-]+)"?\s*>?/g, '<$1=$2>');
  const recipient = block.replace(/\bto=(?:functions?_|(?:functions?|tools?)[./:]|\/)?(?=\w)/, 'to=functions.');
  return [
    block,
    start + quoteBareWords(block.slice(start.length)),
    block.replaceAll('{{', '{').replaceAll('}}', '}'),
    block.replace(/^[^[{]*/, ''),
    ...marked,
    valued,
    recipient,
    ...asJson(block, markup, tools),
  ];
}

function asJson(block: string, markup: CallMarkup, tools: OfferedTools): readonly string[] {
  if (!/<\S|\[[A-Z]/.test(block)) return [];
  const named = new RegExp(`(?<![\\w-])(?:${anyOfTexts(tools.map(({ name }) => name))})(?![\\w-])`, 'g');
  const found = [...block.matchAll(named)]
    .map(({ 0: name, index }) => ({ name, end: argumentsStart(block, index + name.length) }))
    .find(({ end }) => end === block.length || '({'.includes(block[end] ?? ''));
  if (!found) return [];
  const [{ name }, head, rest] = [found, block.slice(0, found.end), block.slice(found.end)];
  const given = rest.slice(0, rest.lastIndexOf(rest.startsWith('(') ? ')' : '}') + 1);
  const inner = given.startsWith('(') ? given.slice(1, -1).trim() : given;
  const args = inner.startsWith('{')
    ? inner
    : `{${inner.replace(keyOfArgument, (text, key) => (key ? `"${key}":` : text))}}`;
  const isCall = given !== '' || (rest === '' && markup.closes.some((mark) => head.trimEnd().endsWith(mark)));
  const call = `{"name": "${name}", "arguments": ${args.replaceAll('<|"|>', '"')}}`;
  return isCall ? [`<tool_call>${quoteBareWords(call)}</tool_call>`] : [];
}

/** Index after the marks and other characters that stand between a name and its arguments. */
function argumentsStart(block: string, nameEnd: number): number {
  let start = endOfMatch(afterName, block, nameEnd) ?? nameEnd;
  for (let left = 8; left > 0; left--) start = endOfMatch(betweenNameAndArguments, block, start) ?? start;
  return start;
}

const afterName = /(?:\[CALL_ID\]\w{1,64})?(?:\[ARGS\]|\.call)?/y;
const betweenNameAndArguments = /<[^\s<>]{1,32}>|json|[^\w({<>]/y;
const keyOfArgument = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?<!\w)(\w{1,64})\s{0,8}=/g;

// Models put these around the names of functions: `functions.f`, `tools.f`, `/f`, `functions_f_1`, `fjson`, `f()`.
const prefix = /^["'\s]{0,8}(?:functions|(?:functions?|tools?|call)[._/:]|[/.:])?$/i;
const suffix = /^(?:\.?json|code|\(\)|\/)?["'\s]{0,8}$/i;
const number = /^[_:.]?\d{1,3}$/;

/** A call with the name of the offered tool, where something stands around it that is no part of a name, or letters are of the other case. */
export function withOfferedName(call: DetectedCall, tools: OfferedTools): DetectedCall {
  if (tools.some(({ name }) => name === call.name)) return call;
  const plain = (name: string): string => name.toLowerCase().replaceAll('-', '_');
  const written = plain(call.name);
  const found = tools.find(({ name }) => {
    const at = written.indexOf(plain(name));
    const [before, after] = [written.slice(0, Math.max(at, 0)), written.slice(at + plain(name).length)];
    const isNumbered = number.test(after) && (before !== '' || /^\D/.test(after));
    return at >= 0 && prefix.test(before) && (suffix.test(after) || isNumbered);
  });
  return found ? { ...call, name: found.name, repaired: true } : call;
}
