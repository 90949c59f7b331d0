import { skipClosingFence, skipOpeningFence } from './detect/markdownCode.ts';
import { withoutEndTokens } from './detect/tags.ts';
import { parseJsonAt } from './json/lenientParser.ts';
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
  const reply = opened + text;
  const detection =
    isJson && tools.length === 0
      ? { calls: [], residual: withoutEndTokens(reply).trim(), truncated: false }
      : format.detect(reply, options);
  const split = splitReply(detection.residual, marks, { keepReasoning });
  const content = split.content.trim();
  return { ...detection, content: isJson ? withoutFence(content) : content, reasoning: split.reasoning };
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
