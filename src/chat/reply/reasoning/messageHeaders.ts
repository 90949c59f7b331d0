import type { MarkPair, ReasoningMarks, ReplyMarks } from '../../replyMarks.ts';

/** What a text starts with where a message starts. */
export interface ReadHeader {
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
 * Reads the headers of the messages of a reply, as gpt-oss writes them: ` to=functions.f<|channel|>commentary
 * <|constrain|>json<|message|>`. A header with another recipient than the assistant is that of a call; else the last
 * channel in it says whether the message is reasoning.
 */
export class MessageHeaders {
  readonly #marks: MarkPair;
  readonly #restart: string;
  /** The marks of reasoning by the channel in their header. */
  readonly #reasoning = new Map<string, ReasoningMarks>();

  constructor(marks: MarkPair, { reasoning, restart }: ReplyMarks) {
    this.#marks = marks;
    this.#restart = restart;
    for (const pair of reasoning
      .filter(({ open }) => open.startsWith(marks.open) && open.endsWith(marks.close))
      .reverse())
      this.#reasoning.set(pair.open.slice(marks.open.length, -marks.close.length).trim(), pair);
  }

  /**
   * Reads the header that a text starts with.
   * @param isComplete whether no text follows.
   * @returns undefined: more text decides.
   */
  read(text: string, isComplete: boolean): ReadHeader | undefined {
    const { open, close } = this.#marks;
    const marks = [open, this.#restart].filter((mark) => mark !== '');
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
    if (closeAt >= 0) return this.#classify(text.slice(0, closeAt), closeAt + close.length);
    // Not a header: only its first mark is left out.
    if (text.length > maxHeaderLength) return { ...noHeader, length: first?.length ?? 0 };
    return isComplete ? { ...noHeader, part: partOf(text), length: text.length } : undefined;
  }

  #classify(header: string, length: number): ReadHeader {
    if (partOf(header) === 'call') return { length, part: 'call', next: 'call' };
    const channelAt = header.lastIndexOf(this.#marks.open) + this.#marks.open.length;
    const channel = /^\s*(\S*)/.exec(header.slice(channelAt))?.[1] ?? '';
    const reasoning = this.#reasoning.get(channel);
    return reasoning ? { length, part: 'mark', next: reasoning } : { ...noHeader, length };
  }
}

/** Whether a header, perhaps cut off, is that of a call: it has another recipient than the assistant. */
const partOf = (header: string): 'call' | 'other' => {
  const recipients = [...header.matchAll(/\bto=([^\s<[]+)/g)].map(([, name]) => name);
  return recipients.some((name) => name !== 'assistant') ? 'call' : 'other';
};

const noHeader: ReadHeader = { length: 0, part: 'other', next: 'answer' };
