import { memoized } from '../../../base/memoized.ts';
import { type FoundMark, MarkSearch } from '../../markSearch.ts';
import { hasTag, type ReasoningMarks, type ReplyMarks, tagsOf, type MarkPair } from '../../replyMarks.ts';

/** The searches for what ends the parts of a reply, made once: constrained decoding needs them for each token. */
export const searchesFor = memoized((marks: ReplyMarks) => {
  const { reasoning, header, restart } = marks;
  const messageMarks = header ? [header.open, restart].filter(hasTag) : [];
  return {
    inAnswer: new MarkSearch(tagsOf(marks)),
    inReasoning: new Map(reasoning.map((pair) => [pair, new MarkSearch([pair.close, ...messageMarks])])),
    inCall: new MarkSearch([...reasoning.map(({ close }) => close), ...messageMarks]),
    readHeader: header && messageHeaderReader(header, marks),
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
 * | header    | the closing mark of the header              | left out (see messageHeaderReader)       |
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
    // A control token within which the text ends; the beginning of another tag may be text.
    const rest = isComplete ? this.#pending.slice(this.#next).trimStart() : '';
    const isBegun = (tag: string): boolean => tag.startsWith(rest) && /^<.*[|｜]/.test(tag);
    const isCutOff = rest.length > 1 && tagsOf(this.#marks).some(isBegun);
    this.#emit(isCutOff ? 'other' : part, typeof found === 'number' ? found : found.start);
    if (typeof found === 'number') return false;
    this.#accept(found);
    return true;
  }

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
    this.#state = opened ?? (this.#searches.readHeader && mark === undefined ? 'header' : 'answer');
    return true;
  }

  #header(isComplete: boolean): boolean {
    const found = this.#searches.readHeader?.(this.#pending.slice(this.#next), isComplete);
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

interface ReadHeader {
  /** UTF-16 units of the header; 0: there is none. */
  readonly length: number;
  /** What the header is: a mark of reasoning, that of a call, or left out. */
  readonly part: 'mark' | 'call' | 'other';
  /** The state after it. */
  readonly next: 'answer' | 'call' | ReasoningMarks;
}

/** A header is not longer than this; what is longer is text that starts like one. */
const maxHeaderLength = 400;

/** A header may start with the recipient of the message; the prompt has its beginning already. */
const beforeFirstMark = /^\s*(?:to=[^\s<[]*|to?)?\s*/;

/**
 * Makes the reader of the headers of the messages of a reply, as gpt-oss writes them: ` to=functions.f<|channel|>commentary
 * <|constrain|>json<|message|>`. A header with another recipient than the assistant is that of a call; else the last
 * channel in it says whether the message is reasoning. undefined: more text decides. `isComplete`: no text follows.
 */
function messageHeaderReader({ open, close }: MarkPair, { reasoning, restart }: ReplyMarks) {
  const marks = [open, restart].filter((mark) => mark !== '');
  // The marks of reasoning by the channel in their header; of several with one channel the first counts.
  const pairs = reasoning.filter((pair) => pair.open.startsWith(open) && pair.open.endsWith(close)).reverse();
  const byChannel = new Map(pairs.map((pair) => [pair.open.slice(open.length, -close.length).trim(), pair]));

  const classify = (header: string, length: number): ReadHeader => {
    if (partOf(header) === 'call') return { length, part: 'call', next: 'call' };
    const channelAt = header.lastIndexOf(open) + open.length;
    const channel = /^\s*(\S*)/.exec(header.slice(channelAt))?.[1] ?? '';
    const next = byChannel.get(channel);
    return next ? { length, part: 'mark', next } : { ...noHeader, length };
  };

  return (text: string, isComplete: boolean): ReadHeader | undefined => {
    const first = marks.find((mark) => text.startsWith(mark));
    if (first === undefined) {
      const recipient = beforeFirstMark.exec(text)?.[0] ?? '';
      const rest = text.slice(recipient.length);
      const isUndecided = marks.some((mark) => mark.startsWith(rest));
      if (isUndecided && !isComplete && text.length <= maxHeaderLength) return undefined;
      if (rest === '' && recipient.includes('=')) return { ...noHeader, part: partOf(text), length: text.length };
      if (!rest.startsWith(open)) return noHeader;
    }
    const closeAt = text.slice(0, maxHeaderLength).indexOf(close);
    if (closeAt >= 0) return classify(text.slice(0, closeAt), closeAt + close.length);
    // Not a header: only its first mark is left out.
    if (text.length > maxHeaderLength) return { ...noHeader, length: first?.length ?? 0 };
    return isComplete ? { ...noHeader, part: partOf(text), length: text.length } : undefined;
  };
}

/** Whether a header, perhaps cut off, is that of a call: it has another recipient than the assistant. */
const partOf = (header: string): 'call' | 'other' => {
  const recipients = [...header.matchAll(/\bto=([^\s<[]+)/g)].map(([, name]) => name);
  return recipients.some((name) => name !== 'assistant') ? 'call' : 'other';
};

const noHeader: ReadHeader = { length: 0, part: 'other', next: 'answer' };
