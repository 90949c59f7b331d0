import type { CallMarkup, MalformedCall } from '../../tool.ts';
import { commonMarkup } from '../detect/tags.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import { isMentioned, type MarkFinder, type MarkItem } from './markFinder.ts';
import { markupSplitter } from './splitMarkup.ts';

/** What a step of the filter lets through. */
interface Passed {
  readonly text: string;
  /** Whether the rest waits for more text. */
  readonly isWaiting: boolean;
}

const waiting: Passed = { text: '', isWaiting: true };

// In a string, a closing mark is text; so many are looked at before a call is taken as malformed.
const maxClosersInStrings = 8;
// Enough of the text before a mark to see whether a sentence names it.
const maxContext = 40;

/**
 * Takes markup of calls out of text that arrives in pieces, for a node that reads no calls: a mark and what it opens, up
 * to its closing mark, else to the end of the text. JSON without a mark stays, as do Markdown code and prose around a
 * mark. Reasoning is filtered before. How the text is cut into pieces makes no difference.
 */
export class CallMarkupFilter {
  readonly #finder: MarkFinder;
  readonly #splitter: ReturnType<typeof markupSplitter>;
  readonly #code = new CodeSpanState();
  readonly #malformed: MalformedCall[] = [];
  /** Text that is held back; while a call is open, it starts with its mark. */
  #pending = '';
  #isOpen = false;
  /** Pieces after that, until there is a closing mark for the open call. */
  readonly #later: string[] = [];
  /** The end of the text so far, while only a closing mark is waited for, or the end of code. */
  #seam: string | undefined;
  /** Whether other markup stands directly before the open call. */
  #follows = false;
  /** Where the search for the closing mark of the open call goes on, and how many were in strings so far. */
  #closers = { from: 0, inStrings: 0 };
  /** White space and the code fence before the markup that was taken out last; undefined: other text followed it. */
  #gap: string | undefined;
  /** The end of what was let through. */
  #last = '';

  /** @param markup the marks of the model's calls; default: those that all models know. */
  constructor(markup: CallMarkup = commonMarkup) {
    this.#splitter = markupSplitter(markup);
    this.#finder = this.#splitter.finder;
  }

  /** The markup that was taken out so far. */
  get unread(): readonly MalformedCall[] {
    return this.#malformed;
  }

  /** Takes the next piece of text and returns what can be let through. */
  push(piece: string): string {
    this.#later.push(piece);
    if (this.#seam !== undefined) {
      // Joined for each piece, a long call would take quadratic time.
      const seam = this.#seam + piece;
      this.#seam = this.#isOpen ? seam.slice(-this.#finder.maxLength) : seam.slice(undecidedCode(seam));
      if (this.#isOpen ? !this.#finder.closesIn(seam) : this.#code.endIn(seam) === undefined) return '';
    }
    return this.#drain(false);
  }

  /** Returns what was held back and is no markup, at the end of the text. */
  flush(): string {
    return this.#drain(true);
  }

  #drain(isComplete: boolean): string {
    this.#pending += this.#later.splice(0).join('');
    this.#seam = undefined;
    let text = '';
    for (;;) {
      const passed = this.#isOpen ? this.#closeCall(isComplete) : this.#findMark(isComplete);
      text += passed.text;
      if (passed.isWaiting) return text;
    }
  }

  /** Lets text through up to the next mark. */
  #findMark(isComplete: boolean): Passed {
    const mark = this.#finder.next(this.#pending, 0);
    const isSettled = mark !== undefined && (isComplete || mark.end < this.#pending.length);
    if (!isSettled) return { text: isComplete ? this.#passEnd() : this.#passBefore(mark), isWaiting: true };
    const text = this.#pass(contentEnd(this.#pending, mark.start));
    if (this.#code.isOpen) {
      const codeEnd = this.#code.endIn(this.#pending, isComplete);
      if (codeEnd === undefined && !isComplete) {
        this.#seam = this.#pending.slice(undecidedCode(this.#pending));
        return { text, isWaiting: true };
      }
      const isQuoted = codeEnd === undefined ? !this.#pending.includes('\n') : codeEnd !== 'never';
      const end = typeof codeEnd === 'number' ? codeEnd : this.#pending.length;
      if (isQuoted) return { text: text + this.#pass(end), isWaiting: false };
      this.#code.reset();
    }
    this.#open();
    return { text, isWaiting: false };
  }

  /** Lets through what can be no part of markup any more. */
  #passBefore(mark: MarkItem | undefined): string {
    const end = Math.min(mark?.start ?? Infinity, this.#finder.undecidedFrom(this.#pending));
    return this.#pass(contentEnd(this.#pending, end, undecidedTail));
  }

  /** Lets the rest of the text through, without a mark that it ends in. */
  #passEnd(): string {
    const cutOff = this.#code.isOpen ? undefined : this.#finder.cutOffFrom(this.#pending);
    if (cutOff === undefined) return this.#pass(this.#pending.length);
    const text = this.#pass(contentEnd(this.#pending, cutOff));
    this.#takeOut(this.#pending.length, [cutOffMark(this.#pending.trim())]);
    return text;
  }

  /** Starts a call at the first mark of what is held back. */
  #open(): void {
    const start = this.#finder.next(this.#pending, 0)?.start ?? 0;
    this.#follows = this.#gap !== undefined;
    this.#gap = shortGap((this.#gap ?? '') + this.#pending.slice(0, start));
    this.#pending = this.#pending.slice(start);
    this.#isOpen = true;
    this.#closers = { from: 0, inStrings: 0 };
  }

  /** Takes the open call out of the text, once its end is there. */
  #closeCall(isComplete: boolean): Passed {
    const pending = this.#pending;
    const mark = this.#finder.next(pending, 0);
    if (!mark) return { text: '', isWaiting: true };
    const markText = pending.slice(0, mark.end);
    const after = pending.slice(mark.end, mark.end + maxContext);
    if (mark.kind === 'closes')
      return this.#takeOut(mark.end, this.#follows ? [] : [{ text: markText, reason: `${markText} closes no call` }]);
    if (!isComplete && /^[ \t]*$/.test(after) && after.length < maxContext) return waiting;
    if (isMentioned(this.#last + (this.#gap ?? ''), after)) return this.#takeOut(mark.end, [strayMark(markText)]);
    const end = this.#closingEnd(mark) ?? (isComplete ? pending.length : undefined);
    if (end === undefined) {
      this.#seam = pending.slice(-this.#finder.maxLength);
      return waiting;
    }
    const { answer, unread } = this.#splitter.split(pending.slice(0, end), splitOptions);
    // In a string of JSON a mark is left, which is right for an answer in JSON; this text starts with a mark.
    const text = this.#finder.without(answer);
    this.#takeOut(end, [...unread, ...this.#finder.marksIn(answer).map(strayMark)]);
    return { text: this.#passText(text), isWaiting: false };
  }

  /** Index after the mark that closes the open call; undefined: it is not there yet. */
  #closingEnd(opening: MarkItem): number | undefined {
    const closers = this.#closers;
    const pending = this.#pending;
    const from = Math.max(opening.end, closers.from);
    for (let mark = this.#finder.next(pending, from); mark; mark = this.#finder.next(pending, mark.end)) {
      if (mark.end === pending.length && mark.kind !== 'closes') break;
      closers.from = mark.end;
      if (mark.kind !== 'closes') continue;
      const isText = closers.inStrings < maxClosersInStrings && endsInString(pending.slice(opening.end, mark.end));
      if (!isText) return mark.end;
      closers.inStrings++;
    }
    closers.from = Math.max(closers.from, this.#finder.undecidedFrom(pending));
    return undefined;
  }

  #takeOut(end: number, unread: readonly MalformedCall[]): Passed {
    this.#pending = this.#pending.slice(end);
    this.#isOpen = false;
    this.#malformed.push(...unread);
    this.#gap ??= '';
    return { text: '', isWaiting: false };
  }

  /** Lets the first part of what is held back through. */
  #pass(end: number): string {
    const text = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    return this.#passText(text);
  }

  #passText(passed: string): string {
    let text = passed;
    if (this.#gap !== undefined) {
      if (this.#gap.includes('```')) text = text.replace(/^\s*`{3,}/, '');
      if (text.trim() === '') {
        this.#gap = shortGap(this.#gap + text);
        return '';
      }
      text = afterGap(text, this.#gap, this.#last);
      this.#gap = undefined;
    }
    this.#code.push(text);
    this.#last = (this.#last + text).slice(-maxContext);
    return text;
  }
}

const splitOptions = { toolNames: new Set<string>(), isBareSearched: false, hasCalls: false };

const strayMark = (text: string): MalformedCall => ({ text, reason: `no call follows ${text}` });

const cutOffMark = (text: string): MalformedCall => ({ text, reason: 'the text ends inside a mark of a call' });

const tail = /(?:\n\s{0,40})?(?:`{3,40}[\w+-]{0,16}\s{0,40})?$/;
const undecidedTail = /(?:\n\s{0,40})?(?:`{1,40}|`{3,40}[\w+-]{0,16}\s{0,40})?$/;

/** Index before the line breaks and the code fence that a text up to an index ends with: they may belong to markup. */
const contentEnd = (text: string, end: number, pattern = tail): number => {
  const start = Math.max(0, end - maxContext);
  return start + text.slice(start, end).search(pattern);
};

/** What counts of a gap: whether it has a fence or a line break, and how it ends. */
const shortGap = (gap: string): string =>
  (gap.includes('```') ? '```' : '') + (gap.includes('\n') ? '\n' : '') + gap.slice(-maxContext);

/** Text that follows markup: on a line of its own where the markup stood on one. */
function afterGap(text: string, gap: string, last: string): string {
  const content = text.trimStart();
  if (last === '') return content;
  const space = text.slice(0, text.length - content.length);
  if ((gap + space).includes('\n') && !last.slice(last.trimEnd().length).includes('\n'))
    return `${space.includes('\n') ? space : '\n'}${content}`;
  const isApart = /\s$/.test(last) || /^[.,:;!?)]/.test(text);
  return isApart ? content : ` ${content}`;
}

/** Whether a text after an opening mark ends inside a string of JSON. */
function endsInString(text: string): boolean {
  const start = text.search(/[[{]/);
  const parsed = start < 0 ? undefined : parseJsonAt(text, start, { lenient: true });
  return parsed !== undefined && !parsed.ok && parsed.truncated;
}

/** Markdown code spans in text that arrives in pieces: code with one or two backticks around it, in one paragraph. */
class CodeSpanState {
  #open = 0;

  /** Whether text may be code: a run of backticks before it is not closed yet. */
  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Takes the next piece of text; a run of backticks must not be cut. */
  push(text: string): void {
    for (const [token] of text.matchAll(tokens)) {
      if (!token.startsWith('`')) this.#open = 0;
      else if (this.#open === 0) this.#open = token.length > maxRun ? 0 : token.length;
      else if (token.length === this.#open) this.#open = 0;
    }
  }

  /** Takes the backticks before as text: what follows is no code. */
  reset(): void {
    this.#open = 0;
  }

  /**
   * Where the code that is open ends in a text: the index after it; `never`: at the end of a paragraph; undefined: not yet,
   * also where more backticks may follow.
   */
  endIn(text: string, isComplete = false): number | 'never' | undefined {
    for (const { index, 0: token } of text.matchAll(tokens)) {
      if (!token.startsWith('`')) return 'never';
      const end = index + token.length;
      if (token.length === this.#open && (isComplete || end < text.length)) return end;
    }
    return undefined;
  }
}

/** Index of the end of a text that may be the beginning of what ends code. */
const undecidedCode = (text: string): number => text.search(/(?:`{1,3}|\n[ \t\r]{0,8})$|$/);

// A longer run is a fence.
const maxRun = 2;
const tokens = /`+|\n[ \t\r]*\n/g;
