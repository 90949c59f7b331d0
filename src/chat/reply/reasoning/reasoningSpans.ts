import { defaultReplyMarks, type ReasoningMarks, type ReplyMarks } from '../../replyMarks.ts';
import { searchesFor, ReplyScanner } from './replyScanner.ts';

/** Returns the first index at or after the given one that is outside of reasoning. */
export type SkipReasoning = (index: number) => number;

/** A range of a text with reasoning and its marks; `end` is exclusive. */
export interface ReasoningSpan {
  readonly start: number;
  readonly end: number;
  /** Its marks, if the text ends before it is closed. */
  readonly unclosed: ReasoningMarks | undefined;
}

/** The reasoning with which a text starts, without an opening mark: that of a closing mark which nothing has opened. */
export function impliedReasoning(text: string, marks: ReplyMarks): ReasoningMarks | undefined {
  const { reasoning, header, restart } = marks;
  // Where a reply has several messages, the end of each is such a mark.
  if (header || restart !== '') return undefined;
  const first = searchesFor(marks).inAnswer.next(text, 0, true);
  if (typeof first === 'number') return undefined;
  return reasoning.find(({ open, close }) => close === first.mark && open !== first.mark);
}

/**
 * Finds the reasoning (chain of thought) of a complete text. Reasoning that is never closed reaches to the end of the
 * text; a closing mark without an opening one ends reasoning that started with the text.
 */
export function reasoningSpans(text: string, marks: ReplyMarks): readonly ReasoningSpan[] {
  const spans: { start: number; end: number; unclosed: ReasoningMarks | undefined }[] = [];
  let offset = 0;
  let isInside = false;
  const opened = impliedReasoning(text, marks);
  const scanner = new ReplyScanner(
    marks,
    (part, piece) => {
      const start = offset;
      offset += piece.length;
      const isReasoning = part === 'reasoning' || part === 'mark';
      const last = spans.at(-1);
      if (isReasoning && isInside && last) last.end = offset;
      else if (isReasoning) spans.push({ start, end: offset, unclosed: undefined });
      isInside = isReasoning;
    },
    opened,
  );
  scanner.push(text);
  scanner.end();
  const last = spans.at(-1);
  if (last) last.unclosed = scanner.reasoning;
  return spans;
}

/** Finds the reasoning of a complete text, to skip it. */
export const createReasoningSkipper = (text: string, marks: ReplyMarks = defaultReplyMarks): SkipReasoning =>
  skipSpans(reasoningSpans(text, marks));

/** Skips ranges of a text, which are in its order and do not overlap. */
export function skipSpans(spans: readonly ReasoningSpan[]): SkipReasoning {
  if (spans.length === 0) return (index) => index;
  return (index) => {
    // Binary search for the number of spans that start at or before the index.
    let low = 0;
    let high = spans.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((spans[middle]?.start ?? Infinity) <= index) low = middle + 1;
      else high = middle;
    }
    return Math.max(index, spans[low - 1]?.end ?? index);
  };
}
