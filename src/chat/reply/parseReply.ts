import { wholeJson } from '../markdownCode.ts';
import { commonMarkup, withoutEndTokens } from './detect/tags.ts';
import { defaultReplyMarks } from '../replyMarks.ts';
import { splitReply } from './reasoning/splitReply.ts';
import { type TextRange, withoutRanges } from '../markSearch.ts';
import { splitMarkup } from './splitMarkup.ts';
import { mendedCalls, withOfferedName } from './mendedCalls.ts';
import type { MalformedCall, DetectOptions, Detection, ToolCallFormat } from '../tool.ts';

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
    : splitReply(withoutRanges(residual, rangesOf(formatMalformed, residual)), marks).content.trim();
  const split = (part: string, hasCalls: boolean): ReturnType<typeof splitMarkup> =>
    splitMarkup(part, format.markup ?? commonMarkup, hasCalls, {
      toolNames: new Set(tools.map(({ name }) => name)),
      isBareSearched: !isJson,
      ...(cutOff !== '' && part.endsWith(cutOff) && { cutOffAt: part.length - cutOff.length }),
    });
  const [outside, markup] = split(visible, parsed.calls.length > 0);
  const malformed = [...toolMessages.map(malformedMessage), ...formatMalformed, ...markup];
  // What the format itself has found is read as far as it may be.
  const mended = malformed.slice(0, maxMended).map((part) => {
    return formatMalformed.includes(part) ? [] : mendedCalls(part.text, format, options);
  });
  const calls = [...parsed.calls.map((call) => withOfferedName(call, tools)), ...mended.flat()];
  const isRead = (index: number): boolean => (mended[index]?.length ?? 0) > 0;
  // What stood around a call that was mended may be markup, too.
  const [answer, around] = mended.flat().length > 0 ? split(outside, true) : [outside, []];
  const unread = [...malformed.filter((_, index) => !isRead(index)), ...around];
  const isSilent = calls.length === 0 && unread.length === 0 && answer === '';
  if (isSilent) unread.push(...callsInReasoning(reasoning, format, options));
  const readBlocks = rangesOf(malformed, parsed.content).filter((_, index) => isRead(index));
  return { ...parsed, content: withoutRanges(parsed.content, readBlocks), calls, answer, unread };
}

/** The calls of offered tools in reasoning, where nothing else is in the reply. */
function callsInReasoning(reasoning: string, format: ToolCallFormat, options: DetectOptions): readonly MalformedCall[] {
  const { tools = [] } = options;
  const { calls, unread = [] } = format.detect(tools.length > 0 ? reasoning : '', options);
  const offered = calls.filter((call) => tools.some(({ name }) => name === call.name)).map(({ raw }) => raw);
  const inProse = unread.map(({ text }) => text).filter((text) => tools.some(({ name }) => text.includes(name)));
  return [...offered, ...inProse].map((text) => ({ text, reason: 'it is within the reasoning, and nothing follows' }));
}

/** Where parts of a text are, which are in its order; an empty range where one is not. */
function rangesOf(parts: readonly MalformedCall[], text: string): readonly TextRange[] {
  let from = 0;
  return parts.map((part) => {
    const start = text.indexOf(part.text, from);
    if (start >= 0) from = start + part.text.length;
    return { start: start < 0 ? from : start, end: from };
  });
}

/** A message to a tool that remains of a reply. */
const malformedMessage = (text: string): MalformedCall => ({
  text,
  reason: `the message to ${/\bto=([^\s<[]+)/.exec(text)?.[1] ?? 'a tool'} is no call that can be read`,
});
