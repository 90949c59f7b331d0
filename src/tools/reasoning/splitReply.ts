import { MarkSearch } from './markSearch.ts';
import { ReasoningFilter } from './reasoningFilter.ts';
import { defaultReplyMarks, type ReplyMarks } from './replyMarks.ts';
import { impliedReasoning, reasoningSpans } from './reasoningSpans.ts';

/** The parts of a reply. */
export interface SplitReply {
  readonly reasoning: string;
  /** The answer, calls included, without the marks around it. */
  readonly content: string;
}

export interface SplitReplyOptions {
  /** The end of the prompt that belongs to the reply: `<think>`, where the template has opened reasoning. Default "". */
  readonly opened?: string;
  /** Whether reasoning stays in the content, with its marks. */
  readonly keepReasoning?: boolean;
  /** Opening marks of calls: the first one in reasoning that is never closed ends it. */
  readonly callMarks?: readonly string[];
}

/** Splits a complete reply into reasoning and content, in time linear in its length. */
export function splitReply(
  text: string,
  marks: ReplyMarks = defaultReplyMarks,
  { opened = '', keepReasoning = false, callMarks = [] }: SplitReplyOptions = {},
): SplitReply {
  const reply = closeBeforeCall(opened + text, marks, callMarks);
  const filter = new ReasoningFilter(marks, { opened: impliedReasoning(reply, marks), keepReasoning });
  const content = filter.push(reply) + filter.flush();
  return { reasoning: keepReasoning ? '' : filter.reasoning, content };
}

/** A complete text without its reasoning. */
export const stripReasoning = (text: string, marks: ReplyMarks = defaultReplyMarks): string =>
  splitReply(text, marks).content;

/** A text whose reasoning, if it is never closed, is closed before the first call in it. */
function closeBeforeCall(text: string, marks: ReplyMarks, callMarks: readonly string[]): string {
  const last = callMarks.length === 0 ? undefined : reasoningSpans(text, marks).at(-1);
  if (!last?.unclosed) return text;
  const call = new MarkSearch(callMarks).next(text, last.start, true);
  return typeof call === 'number' ? text : text.slice(0, call.start) + last.unclosed.close + text.slice(call.start);
}
