import { skipSeparators } from './json/lenientParser.ts';
import { createReasoningSkipper, visibleStart } from './reply/reasoning/splitReply.ts';
import { defaultReplyMarks, type ReplyMarks } from './replyMarks.ts';
import type { Trigger } from './grammar/rule.ts';

/** Finds the trigger that ends first after `range.searchedTo`, outside of reasoning, in text from `range.start` on. */
export function findTrigger(
  text: string,
  triggers: readonly Trigger[],
  range: { readonly start: number; readonly searchedTo: number },
  marks: ReplyMarks = defaultReplyMarks,
): { readonly trigger: Trigger; readonly end: number } | undefined {
  const found = triggers.flatMap((trigger) => {
    const { text: literal } = trigger;
    const start = text.indexOf(literal, Math.max(range.start, range.searchedTo - literal.length + 1));
    return start < 0 ? [] : [{ trigger, start }];
  });
  // The whole text is read only where the new text has a trigger: this is called for each token.
  if (found.length === 0) return undefined;
  const skipReasoning = createReasoningSkipper(text, marks);
  const matches = found.flatMap(({ trigger, start: next }) => {
    const { text: literal, where } = trigger;
    const start = where === 'first' ? visibleStart(text, range.start, skipReasoning, skipSeparators) : next;
    const end = start + literal.length;
    return text.startsWith(literal, start) && end > range.searchedTo ? [{ trigger, end }] : [];
  });
  const [first] = matches.sort((a, b) => a.end - b.end);
  return first && skipReasoning(first.end - 1) === first.end - 1 ? first : undefined;
}
