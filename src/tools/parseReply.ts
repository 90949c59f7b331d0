import { skipClosingFence, skipOpeningFence } from './detect/markdownCode.ts';
import { commonMarkup, withoutEndTokens } from './detect/tags.ts';
import { parseJsonAt } from './json/lenientParser.ts';
import { defaultReplyMarks } from './reasoning/replyMarks.ts';
import { splitReply } from './reasoning/splitReply.ts';
import { markupSplitter } from './unread/splitMarkup.ts';
import type { UnreadCall } from './unread/unreadCall.ts';
import type { DetectOptions, Detection, ToolCallFormat } from './tool.ts';

/** The parts of a model's reply: calls, reasoning and answer. */
export interface ParsedReply extends Detection {
  /** The answer: the text without calls, reasoning and the marks around all parts. */
  readonly content: string;
  readonly reasoning: string;
  /** The content without reasoning and without any markup of calls: what may be shown and remembered. */
  readonly answer: string;
  /** The markup that opened a call and gave none: messages to tools, then markup in the content. */
  readonly unread: readonly UnreadCall[];
}

export interface ParseReplyOptions extends DetectOptions {
  /** The end of the prompt that belongs to the reply: `<think>`, where the template has opened reasoning. Default "". */
  readonly opened?: string;
  /** Whether reasoning stays in the content, with its marks. Default false. */
  readonly keepReasoning?: boolean;
  /** Whether the answer had to be JSON: without tools it is then no call, and a code fence around it is removed. */
  readonly isJson?: boolean;
}

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
  const { content: untrimmed, reasoning, toolMessages } = splitReply(detection.residual, marks, { keepReasoning });
  const content = untrimmed.trim();
  const parsed = { ...detection, content: isJson ? withoutFence(content) : content, reasoning };
  if (isJson && tools.length === 0) return { ...parsed, answer: parsed.content, unread: [] };
  const visible = keepReasoning ? splitReply(detection.residual, marks).content.trim() : parsed.content;
  const split = markupSplitter(format.markup ?? commonMarkup).split(visible, {
    toolNames: new Set(tools.map(({ name }) => name)),
    isBareSearched: !isJson,
    hasCalls: parsed.calls.length > 0,
  });
  return { ...parsed, answer: split.answer, unread: [...toolMessages.map(unreadMessage), ...split.unread] };
}

/** A message to a tool that remains of a reply. */
const unreadMessage = (text: string): UnreadCall => ({
  text,
  reason: `the message to ${/\bto=([^\s<[]+)/.exec(text)?.[1] ?? 'a tool'} is no call that can be read`,
});

/** JSON without the Markdown code fence around it; any other text as it is. */
function withoutFence(content: string): string {
  if (!content.startsWith('```')) return content;
  const start = skipOpeningFence(content, 0);
  const parsed = parseJsonAt(content, start);
  return parsed.ok && skipClosingFence(content, parsed.end) === content.length
    ? content.slice(start, parsed.end)
    : content;
}
