import { parseReply, type ParsedReply, type ParseReplyOptions } from '../../../chat/reply/parseReply.ts';
import type { ToolCallFormat } from '../../../chat/tool.ts';
import { isAllowed, type CallConstraint } from './callConstraint.ts';

/** Parses a reply. Where answers are JSON, what looks like a call that no tool allows is the answer. */
export async function readReply(
  text: string,
  format: ToolCallFormat,
  options: ParseReplyOptions,
  constraint: CallConstraint,
): Promise<ParsedReply> {
  if (!constraint.answer) return parseReply(text, format, options);
  const reply = parseReply(text, format, { ...options, isJson: true });
  for (const call of reply.calls)
    if (!(await isAllowed(call, constraint)))
      return parseReply(text, format, { isJson: true, ...(options.marks && { marks: options.marks }) });
  return reply;
}
