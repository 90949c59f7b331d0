import { memoized } from '../../../base/memoized.ts';
import { type FoundMark, MarkSearch } from '../../markSearch.ts';
import { MessageHeaders } from './messageHeaders.ts';
import { hasTag, type ReasoningMarks, type ReplyMarks, tagsOf } from '../../replyMarks.ts';

/** The searches for what ends the parts of a reply, made once: constrained decoding needs them for each token. */
export const searchesFor = memoized((marks: ReplyMarks) => {
  const { reasoning, header, restart } = marks;
  const messageMarks = header ? [header.open, restart].filter(hasTag) : [];
  return {
    inAnswer: new MarkSearch(tagsOf(marks)),
    inReasoning: new Map(reasoning.map((pair) => [pair, new MarkSearch([pair.close, ...messageMarks])])),
    inCall: new MarkSearch([...reasoning.map(({ close }) => close), ...messageMarks]),
    headers: header && new MessageHeaders(header, marks),
  };
});

/** What a piece of a reply is: text of the answer, reasoning, a mark of reasoning, a message to a tool, or none of them. */
export type ReplyPart = 'answer' | 'reasoning' | 'mark' | 'call' | 'other';

/** Receives the pieces of a reply and where they start, in order and without gaps. */
export type OnPart = (part: ReplyPart, text: string, start: number) => void;

/**
 * Tells the parts of a reply apart, as its text arrives in pieces. Takes time linear in the text; how it is cut makes no
 * difference.
 *
 * | state     | ends with                                   | its text is                              |
 * | --------- | ------------------------------------------- | ---------------------------------------- |
 * | start     | anything but white space and a plain mark   | (none)                                   |
 * | answer    | an opening mark of reasoning                | answer; all other marks are left out     |
 * | reasoning | its own closing mark                        | reasoning; other marks in it are text    |
 * | header    | the closing mark of the header              | left out (see MessageHeaders)            |
 * | call      | the next header, or the end of the message  | a message to a tool                      |
 *
 * In a reply of messages (`marks.header`), the next header ends reasoning, too.
 */
export class ReplyScanner {
  readonly #marks: ReplyMarks;
  readonly #onPart: OnPart;
  readonly #searches: ReturnType<typeof searchesFor>;
  #state: 'start' | 'answer' | 'header' | 'call' | ReasoningMarks;
  /** Text that is not assigned to a part yet, and where it starts in the reply. */
  #pending = '';
  #pendingStart = 0;
  /** Offset in `#pending` of what comes next. */
  #next = 0;

  /** @param opened reasoning that the prompt, or text which is not there, has opened. */
  constructor(marks: ReplyMarks, onPart: OnPart, opened?: ReasoningMarks) {
    this.#marks = marks;
    this.#onPart = onPart;
    this.#searches = searchesFor(marks);
    this.#state = opened ?? 'start';
  }

  /** The marks of the reasoning in which the text so far ends; undefined: it ends in none. */
  get reasoning(): ReasoningMarks | undefined {
    return typeof this.#state === 'object' ? this.#state : undefined;
  }

  /** The end of the text that is held back, because it may be the beginning of a mark. */
  get held(): string {
    return this.#pending;
  }

  push(piece: string): void {
    this.#scan(piece, false);
  }

  /** Assigns what was held back, at the end of the text. */
  end(): void {
    this.#scan('', true);
  }

  #scan(piece: string, isComplete: boolean): void {
    this.#pending += piece;
    // White space at the start decides nothing. Looked at again for each piece, it would take quadratic time.
    if (this.#state === 'start' && !isComplete && piece.trim() === '') return;
    this.#next = 0;
    while (this.#step(isComplete));
    this.#pending = this.#pending.slice(this.#next);
    this.#pendingStart += this.#next;
  }

  /** Assigns the text up to the next mark; false: the rest waits for more text. */
  #step(isComplete: boolean): boolean {
    if (this.#state === 'start') return this.#start(isComplete);
    if (this.#state === 'header') return this.#header(isComplete);
    const [part, search] = this.#current;
    const found = search.next(this.#pending, this.#next, isComplete);
    this.#emit(part, typeof found === 'number' ? found : found.start);
    if (typeof found === 'number') return false;
    this.#accept(found);
    return true;
  }

  /** What the text up to the next mark is, and the search for that mark. */
  get #current(): readonly [ReplyPart, MarkSearch] {
    const { inAnswer, inReasoning, inCall } = this.#searches;
    if (this.reasoning) return ['reasoning', inReasoning.get(this.reasoning) ?? inAnswer];
    return this.#state === 'call' ? ['call', inCall] : ['answer', inAnswer];
  }

  #accept({ mark, end }: FoundMark): void {
    const { header, reasoning, restart } = this.#marks;
    if (header && (mark === header.open || mark === restart)) {
      // The mark is a part of the header.
      this.#state = 'header';
      return;
    }
    const opened = this.reasoning ? undefined : reasoning.find(({ open }) => open === mark);
    this.#emit(this.reasoning || opened ? 'mark' : 'other', end);
    this.#state = opened ?? 'answer';
  }

  // Plain marks count only here: later, the same words are text.
  #start(isComplete: boolean): boolean {
    const from = this.#next + (/\S/.exec(this.#pending.slice(this.#next))?.index ?? Infinity);
    const text = this.#pending.slice(from);
    if (text === '' && !isComplete) return false;
    const { answer, reasoning } = this.#marks;
    const plain = [...reasoning, ...(answer ? [answer] : [])].map(({ open }) => open);
    const known = plain.filter((open) => open !== '' && !hasTag(open));
    const mark = known.find((open) => text.startsWith(open));
    if (mark === undefined && !isComplete && known.some((open) => open.startsWith(text))) return false;
    const opened = reasoning.find(({ open }) => open === mark);
    if (mark !== undefined) this.#emit(opened ? 'reasoning' : 'other', from + mark.length);
    this.#state = opened ?? (this.#searches.headers && mark === undefined ? 'header' : 'answer');
    return true;
  }

  #header(isComplete: boolean): boolean {
    const found = this.#searches.headers?.read(this.#pending.slice(this.#next), isComplete);
    if (!found) return false;
    this.#emit(found.part, this.#next + found.length);
    this.#state = found.next;
    return true;
  }

  #emit(part: ReplyPart, end: number): void {
    const start = this.#pendingStart + this.#next;
    if (end > this.#next) this.#onPart(part, this.#pending.slice(this.#next, end), start);
    this.#next = Math.max(this.#next, end);
  }
}
