import { skipInlineCode } from './inlineCode.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';

/** A piece of a text between brackets, these included. */
export interface BracketSpan {
  readonly start: number;
  readonly end: number;
}

/** The brackets of a text. */
export interface BracketMatch {
  /** The outermost pieces that close, in order, without those that look like no JSON. */
  readonly pieces: readonly BracketSpan[];
  /** Where an object starts that the text never closes; no piece lies beyond. */
  readonly truncatedAt: number | undefined;
}

interface OpenBracket {
  readonly at: number;
  readonly closer: '}' | ']';
  /** Starts as JSON does; in what is prose, a quote opens no string. */
  readonly json: boolean;
}

const bracketPattern = /[[\]{}"`]/g;
const jsonObjectStart = /\{\s*(?:["'}]|$)/y;
const jsonListStart = /\[\s*[-{["'\]0-9tfn]/y;

/** Pairs the brackets from an index on, in one walk: with a stack, so that no opener's end is looked for twice. */
export function matchBrackets(text: string, from: number, skipReasoning: SkipReasoning): BracketMatch {
  const open = new OpenBrackets();
  let pieces: BracketSpan[] = [];
  let noStringBefore = from;
  let at = from;
  for (;;) {
    bracketPattern.lastIndex = at;
    if (!bracketPattern.test(text)) break;
    const index = bracketPattern.lastIndex - 1;
    at = skipReasoning(index);
    if (at > index) continue;
    at = index + 1;
    const mark = text[index];
    if (mark === '{') {
      open.push({ at: index, closer: '}', json: matchesAt(jsonObjectStart, text, index) });
    } else if (mark === '[') {
      open.push({ at: index, closer: ']', json: matchesAt(jsonListStart, text, index) });
    } else if (mark === '}' || mark === ']') {
      const opener = open.close(mark);
      if (opener === undefined) continue;
      while ((pieces.at(-1)?.start ?? -1) > opener.at) pieces.pop();
      if (opener.json) pieces.push({ start: opener.at, end: at });
    } else if (mark === '`') {
      if (!open.inJson) at = skipInlineCode(text, index);
    } else if (open.inJson && index >= noStringBefore) {
      const end = stringEnd(text, at);
      if (text[end] === '\n') noStringBefore = end;
      else at = end + 1;
    }
  }
  const truncatedAt = open.firstObject();
  if (truncatedAt !== undefined) pieces = pieces.filter(({ start }) => start < truncatedAt);
  return { pieces, truncatedAt };
}

// The openers that wait for their closers.
class OpenBrackets {
  readonly #stack: OpenBracket[] = [];
  readonly #waiting = { '}': 0, ']': 0 };

  get inJson(): boolean {
    return this.#stack.at(-1)?.json ?? false;
  }

  push(opener: OpenBracket): void {
    this.#stack.push(opener);
    this.#waiting[opener.closer]++;
  }

  /** The opener that a closer closes; those opened after it stay unclosed. */
  close(closer: OpenBracket['closer']): OpenBracket | undefined {
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

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
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
