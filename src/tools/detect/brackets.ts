import { pastCode } from './inlineCode.ts';
import type { Past } from '../reasoning/reasoningSpans.ts';

/** A piece of a text between brackets, these included. */
export interface Bracketed {
  readonly start: number;
  readonly end: number;
}

/** The brackets of a text. */
export interface Balance {
  /** The outermost pieces that close, in order, without those that look like no JSON. */
  readonly pieces: readonly Bracketed[];
  /** Where an object starts that the text never closes; no piece lies beyond. */
  readonly cutAt: number | undefined;
}

interface Opener {
  readonly at: number;
  readonly closer: '}' | ']';
  /** Starts as JSON does; in what is prose, a quote opens no string. */
  readonly json: boolean;
}

const marks = /[[\]{}"`]/g;
const jsonObject = /\{\s*(?:["'}]|$)/y;
const jsonList = /\[\s*[-{["'\]0-9tfn]/y;

/** Pairs the brackets from an index on, in one walk: with a stack, so that no opener's end is looked for twice. */
export function balance(text: string, from: number, past: Past): Balance {
  const open = new Openers();
  let pieces: Bracketed[] = [];
  let noStringBefore = from;
  let at = from;
  for (;;) {
    marks.lastIndex = at;
    if (!marks.test(text)) break;
    const index = marks.lastIndex - 1;
    at = past(index);
    if (at > index) continue;
    at = index + 1;
    const mark = text[index];
    if (mark === '{') {
      open.push({ at: index, closer: '}', json: startsAs(jsonObject, text, index) });
    } else if (mark === '[') {
      open.push({ at: index, closer: ']', json: startsAs(jsonList, text, index) });
    } else if (mark === '}' || mark === ']') {
      const opener = open.close(mark);
      if (opener === undefined) continue;
      while ((pieces.at(-1)?.start ?? -1) > opener.at) pieces.pop();
      if (opener.json) pieces.push({ start: opener.at, end: at });
    } else if (mark === '`') {
      if (!open.inJson) at = pastCode(text, index);
    } else if (open.inJson && index >= noStringBefore) {
      const end = stringEnd(text, at);
      if (text[end] === '\n') noStringBefore = end;
      else at = end + 1;
    }
  }
  const cutAt = open.firstObject();
  if (cutAt !== undefined) pieces = pieces.filter(({ start }) => start < cutAt);
  return { pieces, cutAt };
}

// The openers that wait for their closers.
class Openers {
  readonly #stack: Opener[] = [];
  readonly #waiting = { '}': 0, ']': 0 };

  get inJson(): boolean {
    return this.#stack.at(-1)?.json ?? false;
  }

  push(opener: Opener): void {
    this.#stack.push(opener);
    this.#waiting[opener.closer]++;
  }

  /** The opener that a closer closes; those opened after it stay unclosed. */
  close(closer: Opener['closer']): Opener | undefined {
    // Counted, so that a closer of nothing does not search the stack.
    if (this.#waiting[closer] === 0) return undefined;
    let opener = this.#stack.pop();
    while (opener !== undefined && opener.closer !== closer) {
      this.#waiting[opener.closer]--;
      opener = this.#stack.pop();
    }
    this.#waiting[closer]--;
    return opener;
  }

  /** Where the outermost unclosed object starts that looks like JSON. */
  firstObject(): number | undefined {
    return this.#stack.find(({ closer, json }) => closer === '}' && json)?.at;
  }
}

function startsAs(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

const [quote, backslash, lineFeed] = [0x22, 0x5c, 0x0a];

// The closing quote; or the line's end, which a JSON string never passes.
function stringEnd(text: string, at: number): number {
  for (let end = at; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === quote || code === lineFeed) return end;
    if (code === backslash) end++;
  }
  return text.length;
}
