import { ReasoningFilter } from './reasoningFilter.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../replyMarks.ts';
import { impliedReasoning } from './reasoningSpans.ts';

/** The parts of a reply. */
export interface SplitReply {
  readonly reasoning: string;
  /** The answer, calls included, without the marks around it. */
  readonly content: string;
  /** The messages to tools, in a reply of several messages: none of them is content. */
  readonly toolMessages: readonly string[];
}

export interface SplitReplyOptions {
  /** The end of the prompt that belongs to the reply: `<think>`, where the template has opened reasoning. Default "". */
  readonly opened?: string;
  /** Whether reasoning stays in the content, with its marks. */
  readonly keepReasoning?: boolean;
}

/** Splits a complete reply into reasoning and content, in time linear in its length. */
export function splitReply(
  text: string,
  marks: ReplyMarks = defaultReplyMarks,
  { opened = '', keepReasoning = false }: SplitReplyOptions = {},
): SplitReply {
  const reply = opened + text;
  const filter = new ReasoningFilter(marks, { opened: impliedReasoning(reply, marks), keepReasoning });
  const content = filter.push(reply) + filter.flush();
  return { reasoning: keepReasoning ? '' : filter.reasoning, content, toolMessages: filter.toolMessages };
}

/** A complete text without its reasoning. */
export const stripReasoning = (text: string, marks: ReplyMarks = defaultReplyMarks): string =>
  splitReply(text, marks).content;
