import { defaultReplyMarks, type ReasoningMarks, type ReplyMarks } from '../../replyMarks.ts';
import { type ReplyPart, ReplyScanner } from './replyScanner.ts';
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

/** Options of a ReasoningFilter. */
interface ReasoningFilterOptions {
  /** Reasoning that was opened before the text: it starts with reasoning. */
  readonly opened?: ReasoningMarks | undefined;
  /** Whether reasoning stays in the answer, with its marks. */
  readonly keepReasoning?: boolean;
}

/**
 * Reasoning parser for streamed text: separates the reasoning (chain of thought) of a model from its answer, and leaves
 * the marks around both out. How the text is cut into pieces makes no difference.
 */
export class ReasoningFilter {
  readonly #scanner: ReplyScanner;
  readonly #answerParts: ReadonlySet<ReplyPart>;
  #newAnswer = '';
  #hasAnswer = false;
  #isAfterMark = false;
  #reasoning = '';
  readonly #toolMessages: string[] = [];
  #isInToolMessage = false;

  constructor(marks: ReplyMarks = defaultReplyMarks, { opened, keepReasoning = false }: ReasoningFilterOptions = {}) {
    this.#scanner = new ReplyScanner(marks, (part, text) => this.#receive(part, text), opened);
    this.#answerParts = new Set(keepReasoning ? ['answer', 'reasoning', 'mark'] : ['answer']);
  }

  /** The reasoning so far. */
  get reasoning(): string {
    return this.#reasoning.trim();
  }

  /** The messages to tools so far, with their headers: they are no part of the answer. */
  get toolMessages(): readonly string[] {
    return this.#toolMessages.map((text) => text.trim()).filter((text) => text !== '');
  }

  /** Takes the next piece of text and returns the part of the answer in it; a possible start of a mark is held back. */
  push(piece: string): string {
    this.#scanner.push(piece);
    return this.#takeAnswer();
  }

  /** Returns what was held back, at the end of the text. */
  flush(): string {
    this.#scanner.end();
    return this.#takeAnswer();
  }

  #receive(part: ReplyPart, text: string): void {
    if (part === 'call')
      this.#toolMessages.push((this.#isInToolMessage ? (this.#toolMessages.pop() ?? '') : '') + text);
    this.#isInToolMessage = part === 'call';
    if (!this.#answerParts.has(part)) {
      this.#isAfterMark = true;
      if (part === 'reasoning') this.#reasoning += text;
      return;
    }
    // White space between a mark and the answer belongs to neither.
    const isFirst = !this.#hasAnswer && this.#isAfterMark;
    const answer = isFirst ? text.trimStart() : text;
    this.#hasAnswer ||= answer !== '';
    this.#newAnswer += answer;
  }

  #takeAnswer(): string {
    const answer = this.#newAnswer;
    this.#newAnswer = '';
    return answer;
  }
}
