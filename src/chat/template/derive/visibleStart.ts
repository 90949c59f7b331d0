import { createReasoningSkipper } from '../../reply/reasoning/reasoningSpans.ts';
import type { ReplyMarks } from '../../replyMarks.ts';

/** Index of the first character that is neither white space nor reasoning. */
export function visibleStart(text: string, marks: ReplyMarks): number {
  const skipReasoning = createReasoningSkipper(text, marks);
  for (let start = 0; ;) {
    const next = skipReasoning(start + (/^\s*/.exec(text.slice(start))?.[0].length ?? 0));
    if (next === start) return start;
    start = next;
  }
}
