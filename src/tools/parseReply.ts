import { skipClosingFence, skipOpeningFence } from './detect/markdownCode.ts';
import { withoutEndTokens } from './detect/tags.ts';
import { parseJsonAt } from './json/lenientParser.ts';
import { reasoningSpans } from './reasoning/reasoningSpans.ts';
import { defaultReplyMarks } from './reasoning/replyMarks.ts';
import { splitReply } from './reasoning/splitReply.ts';
import type { DetectOptions, Detection, ToolCallFormat } from './tool.ts';

/** The parts of a model's reply: calls, reasoning and answer. */
export interface ParsedReply extends Detection {
  /** The answer: the text without calls, reasoning and the marks around all parts. */
  readonly content: string;
  readonly reasoning: string;
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
  const reply = closeBeforeCalls(opened + text, format, options);
  const detection =
    isJson && tools.length === 0
      ? { calls: [], residual: withoutEndTokens(reply).trim(), truncated: false }
      : format.detect(reply, options);
  const content = splitReply(detection.residual, marks, { keepReasoning }).content.trim();
  const { reasoning } = splitReply(reply, marks, { keepReasoning });
  return { ...detection, content: isJson ? withoutFence(content) : content, reasoning };
}

/**
 * A reply whose reasoning is never closed, closed before the calls that it ends with. Calls that are followed by more
 * text are part of the reasoning.
 */
function closeBeforeCalls(reply: string, format: ToolCallFormat, options: DetectOptions): string {
  const { openingMarks = [] } = format;
  const last = openingMarks.length === 0 ? undefined : reasoningSpans(reply, options.marks ?? defaultReplyMarks).at(-1);
  if (!last?.unclosed) return reply;
  const starts = openingMarks.map((mark) => reply.indexOf(mark, last.start)).filter((start) => start >= 0);
  if (starts.length === 0) return reply;
  const start = Math.min(...starts);
  const { calls, residual, truncated } = format.detect(reply.slice(start), options);
  const endsWithCalls = calls.length > 0 && residual === '' && !truncated;
  return endsWithCalls ? reply.slice(0, start) + last.unclosed.close + reply.slice(start) : reply;
}

/** JSON without the Markdown code fence around it; any other text as it is. */
function withoutFence(content: string): string {
  if (!content.startsWith('```')) return content;
  const start = skipOpeningFence(content, 0);
  const parsed = parseJsonAt(content, start);
  return parsed.ok && skipClosingFence(content, parsed.end) === content.length
    ? content.slice(start, parsed.end)
    : content;
}
