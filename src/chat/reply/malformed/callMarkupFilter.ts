import type { CallMarkup, MalformedCall } from '../../tool.ts';
import { commonMarkup } from '../detect/tags.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import { isMentioned, type MarkFinder, type MarkItem } from './markFinder.ts';
import { markFinder, splitMarkup } from './splitMarkup.ts';

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
  readonly #malformed: MalformedCall[] = [];
  /** Text that is held back; while a call is open, it starts with its mark. */
  #pending = '';
  #isOpen = false;
  /** The end of the text so far, while only a closing mark is waited for, or the end of code. */
  #seam: string | undefined;
  /** Whether other markup stands directly before the open call. */
  #follows = false;
  /** Where the search for the closing mark of the open call goes on, and how many were in strings so far. */
  #closers = { from: 0, inStrings: 0 };
  /** White space and the code fence before the markup that was taken out last; undefined: other text followed it. */
  #gap: string | undefined;
  /** How many backticks have opened Markdown code that is not closed yet. */
  #backticks = 0;
  /** Text that was let through and is not returned yet, and the end of what was let through. */
  #passed = '';
  #last = '';

  /** @param markup the marks of the model's calls; default: those that all models know. */
  constructor(markup: CallMarkup = commonMarkup) {
    this.#finder = markFinder(markup);
  }

  /** The markup that was taken out so far. */
  get unread(): readonly MalformedCall[] {
    return this.#malformed;
  }

  /** Takes the next piece of text and returns what can be let through. */
  push(piece: string): string {
    this.#pending += piece;
    if (this.#seam !== undefined) {
      // Read for each piece, a long call would take quadratic time.
      const seam = this.#seam + piece;
      this.#seam = seam.slice(this.#isOpen ? -this.#finder.maxLength : undecidedCode(seam));
      if (this.#isOpen ? !this.#finder.closesIn(seam) : this.#codeEnd(seam) === undefined) return '';
    }
    return this.#drain(false);
  }

  /** Returns what was held back and is no markup, at the end of the text. */
  flush(): string {
    return this.#drain(true);
  }

  #drain(isComplete: boolean): string {
    this.#seam = undefined;
    while (this.#isOpen ? this.#closeCall(isComplete) : this.#findMark(isComplete));
    const passed = this.#passed;
    this.#passed = '';
    return passed;
  }

  /** Lets text through up to the next mark. @returns whether there is one. */
  #findMark(isComplete: boolean): boolean {
    const pending = this.#pending;
    const mark = this.#finder.find(pending, 0);
    if (!mark || !(isComplete || mark.end < pending.length)) {
      const undecided = Math.min(mark?.start ?? Infinity, this.#finder.undecidedFrom(pending));
      if (isComplete) this.#passEnd();
      else this.#pass(contentEnd(pending, undecided, undecidedTail));
      return false;
    }
    const end = contentEnd(pending, mark.start);
    this.#pass(end);
    if (this.#backticks > 0) {
      const codeEnd = this.#codeEnd(this.#pending, isComplete);
      if (codeEnd === undefined && !isComplete) {
        this.#seam = this.#pending.slice(undecidedCode(this.#pending));
        return false;
      }
      if (codeEnd === undefined ? !this.#pending.includes('\n') : codeEnd !== 'never') {
        this.#pass(typeof codeEnd === 'number' ? codeEnd : this.#pending.length);
        return true;
      }
      // The backticks before are text.
      this.#backticks = 0;
    }
    this.#isOpen = true;
    this.#closers = { from: 0, inStrings: 0 };
    this.#follows = this.#gap !== undefined;
    this.#gap = shortGap((this.#gap ?? '') + pending.slice(end, mark.start));
    this.#pending = pending.slice(mark.start);
    return true;
  }

  /** Lets the rest of the text through, without a mark that it ends in. */
  #passEnd(): void {
    const cutOff = this.#backticks > 0 ? undefined : this.#finder.cutOffFrom(this.#pending);
    this.#pass(cutOff === undefined ? this.#pending.length : contentEnd(this.#pending, cutOff));
    if (cutOff !== undefined) this.#takeOut(this.#pending.length, [cutOffMark(this.#pending.trim())]);
  }

  /** Takes the open call out of the text. @returns whether its end is there. */
  #closeCall(isComplete: boolean): boolean {
    const pending = this.#pending;
    const mark = this.#finder.find(pending, 0);
    if (!mark) return false;
    const markText = pending.slice(0, mark.end);
    const after = pending.slice(mark.end, mark.end + maxContext);
    if (mark.kind === 'closes')
      return this.#takeOut(mark.end, this.#follows ? [] : [{ text: markText, reason: `${markText} closes no call` }]);
    if (!isComplete && /^[ \t]*$/.test(after) && after.length < maxContext) return false;
    if (isMentioned(this.#last + (this.#gap ?? ''), after)) return this.#takeOut(mark.end, [strayMark(markText)]);
    const end = this.#closingEnd(mark) ?? (isComplete ? pending.length : undefined);
    if (end === undefined) {
      this.#seam = pending.slice(-this.#finder.maxLength);
      return false;
    }
    const { answer, unread } = splitMarkup(pending.slice(0, end), this.#finder, splitOptions);
    // In a string of JSON a mark is left, which is right for an answer in JSON; this text starts with a mark.
    const text = this.#finder.replace(answer, () => '');
    this.#takeOut(end, [...unread, ...this.#finder.marksIn(answer).map(strayMark)]);
    this.#passText(text);
    return true;
  }

  /** Index after the mark that closes the open call; undefined: it is not there yet. */
  #closingEnd(opening: MarkItem): number | undefined {
    const closers = this.#closers;
    const pending = this.#pending;
    const from = Math.max(opening.end, closers.from);
    for (let mark = this.#finder.find(pending, from); mark; mark = this.#finder.find(pending, mark.end)) {
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

  /**
   * Where the code that is open ends in a text: the index after it; `never`: at the end of a paragraph; undefined: not yet,
   * also where more backticks may follow.
   */
  #codeEnd(text: string, isComplete = false): number | 'never' | undefined {
    const match = (this.#backticks === 1 ? shortCodeEnd : longCodeEnd).exec(text);
    if (match && !match[0].startsWith('`')) return 'never';
    const end = match ? match.index + match[0].length : Infinity;
    return end < text.length || (isComplete && end === text.length) ? end : undefined;
  }

  #takeOut(end: number, unread: readonly MalformedCall[]): true {
    this.#pending = this.#pending.slice(end);
    this.#isOpen = false;
    this.#malformed.push(...unread);
    this.#gap ??= '';
    return true;
  }

  /** Lets the first part of what is held back through. */
  #pass(end: number): void {
    const text = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    this.#passText(text);
  }

  #passText(passed: string): void {
    let text = passed;
    if (this.#gap !== undefined) {
      if (this.#gap.includes('```')) text = text.replace(/^\s*`{3,}/, '');
      if (text.trim() === '') {
        this.#gap = shortGap(this.#gap + text);
        return;
      }
      text = afterGap(text, this.#gap, this.#last);
      this.#gap = undefined;
    }
    for (const [token] of text.matchAll(/`+|\n[ \t\r]*\n/g))
      if (this.#backticks === 0) this.#backticks = token.startsWith('`') && token.length <= 2 ? token.length : 0;
      else if (token.length === this.#backticks || !token.startsWith('`')) this.#backticks = 0;
    this.#last = (this.#last + text).slice(-maxContext);
    this.#passed += text;
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

/** The end of Markdown code that one or two backticks have opened, or of its paragraph. */
const shortCodeEnd = /(?<!`)`(?!`)|\n[ \t\r]*\n/;
const longCodeEnd = /(?<!`)``(?!`)|\n[ \t\r]*\n/;

/** Index of the end of a text that may be the beginning of what ends code. */
const undecidedCode = (text: string): number => text.search(/(?:`{1,3}|\n[ \t\r]{0,8})$|$/);
