import { skipWhiteSpace } from '../../json/lenientParser.ts';
import { defaultReplyMarks, type ReasoningMarks, type ReplyMarks } from '../../replyMarks.ts';
import type { TextRange } from '../../markSearch.ts';
import { type ReplyPart, ReplyScanner, searchesFor } from './replyScanner.ts';

/** The parts of a reply; `content` is the answer, calls included, without the marks around it. */
export type SplitReply = Pick<ReasoningFilter, 'reasoning' | 'toolMessages'> & { readonly content: string };

/** Splits a complete reply into reasoning and content; with `keepReasoning`, that stays in the content with its marks. */
export function splitReply(text: string, marks: ReplyMarks = defaultReplyMarks, keepReasoning = false): SplitReply {
  const filter = new ReasoningFilter(marks, impliedReasoning(text, marks), keepReasoning);
  const content = filter.push(text) + filter.flush();
  return { reasoning: filter.reasoning, content, toolMessages: filter.toolMessages };
}

/** The reasoning with which a text starts, without an opening mark: that of a closing mark which nothing has opened. */
function impliedReasoning(text: string, marks: ReplyMarks): ReasoningMarks | undefined {
  const { reasoning, header, restart } = marks;
  // Where a reply has several messages, the end of each is such a mark.
  if (header || restart !== '') return undefined;
  const first = searchesFor(marks).inAnswer.first(text, 0);
  return first && reasoning.find(({ open, close }) => close === first.mark && open !== first.mark);
}

/** Separates the reasoning of streamed text from the answer, without the marks, however the text is cut in pieces. */
export class ReasoningFilter {
  readonly #scanner: ReplyScanner;
  #newAnswer = '';
  #hasAnswer = false;
  #isAfterMark = false;
  #reasoning = '';
  readonly #toolMessages: string[] = [];
  #last: ReplyPart = 'other';

  /**
   * @param opened reasoning that was opened before the text: it starts with reasoning.
   * @param keepReasoning whether reasoning stays in the answer, with its marks.
   */
  constructor(marks: ReplyMarks = defaultReplyMarks, opened?: ReasoningMarks, keepReasoning = false) {
    const answer = new Set<ReplyPart>(keepReasoning ? ['answer', 'reasoning', 'mark'] : ['answer']);
    this.#scanner = new ReplyScanner(
      marks,
      (part, text) => {
        if (part === 'call') this.#toolMessages.push((this.#last === part ? this.#toolMessages.pop() : '') + text);
        this.#last = part;
        if (part === 'reasoning' && !keepReasoning) this.#reasoning += text;
        this.#isAfterMark ||= !answer.has(part);
        // White space between a mark and the answer belongs to neither.
        if (answer.has(part)) this.#newAnswer += !this.#hasAnswer && this.#isAfterMark ? text.trimStart() : text;
        this.#hasAnswer ||= this.#newAnswer !== '';
      },
      opened,
    );
  }

  get reasoning(): string {
    return this.#reasoning.trim();
  }

  /** The messages to tools so far, with their headers, in a reply of several messages: they are no answer. */
  get toolMessages(): readonly string[] {
    return this.#toolMessages.map((text) => text.trim()).filter((text) => text !== '');
  }

  /** Takes the next piece of text and returns the part of the answer in it; a possible start of a mark is held back. */
  push(piece: string): string {
    this.#newAnswer = '';
    this.#scanner.push(piece);
    return this.#newAnswer;
  }

  /** Returns what was held back, at the end of the text. */
  flush(): string {
    this.#newAnswer = '';
    this.#scanner.end();
    return this.#newAnswer;
  }
}

/** The ranges of a text with reasoning and its marks: unclosed, the last reaches to the end. */
export interface ReasoningSpans {
  readonly spans: readonly TextRange[];
  readonly isUnclosed: boolean;
  /** The reasoning from the start that a lone closing mark ends; undefined: there is none. */
  readonly implied: ReasoningMarks | undefined;
}

/** Finds the reasoning of a complete text. */
export function reasoningSpans(text: string, marks: ReplyMarks): ReasoningSpans {
  const spans: TextRange[] = [];
  const implied = impliedReasoning(text, marks);
  const scanner = new ReplyScanner(
    marks,
    (part, { length }, at) => {
      if (part !== 'reasoning' && part !== 'mark') return;
      const start = spans.at(-1)?.end === at ? (spans.pop()?.start ?? at) : at;
      spans.push({ start, end: at + length });
    },
    implied,
  );
  scanner.push(text);
  scanner.end();
  return { spans, isUnclosed: scanner.reasoning !== undefined && spans.length > 0, implied };
}

/** Returns the first index at or after the given one that is outside of reasoning. */
export type SkipReasoning = (index: number) => number;

/** Finds the reasoning of a complete text, to skip it. */
export const createReasoningSkipper = (text: string, marks: ReplyMarks = defaultReplyMarks): SkipReasoning =>
  skipSpans(reasoningSpans(text, marks).spans);

/** Skips ranges of a text, which are in its order and do not overlap. */
export const skipSpans =
  (spans: readonly TextRange[]): SkipReasoning =>
  (index) => {
    // Binary search for the number of spans that start at or before the index.
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((spans[middle]?.start ?? Infinity) <= index) low = middle + 1;
      else high = middle;
    }
    return Math.max(index, spans[low - 1]?.end ?? index);
  };

/** Index of the first character at or after an index that is neither reasoning nor what `skip` skips. */
export function visibleStart(text: string, from: number, skipReasoning: SkipReasoning, skip = skipWhiteSpace): number {
  let [start, next] = [-1, from];
  while (start !== next) [start, next] = [next, skipReasoning(skip(text, next))];
  return start;
}
