import { closingQuoteOrLineEnd } from '../../json/closingQuote.ts';
import { skipInlineCode } from './markdownCode.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';

/** A range of a text that starts with an opening bracket and ends with its closing one; `end` is exclusive. */
export interface BracketSpan {
  readonly start: number;
  readonly end: number;
}

/** The matched brackets of a text. */
export interface BracketMatch {
  /** The outermost closed ranges, in order, without those that cannot be JSON. */
  readonly spans: readonly BracketSpan[];
  /** Start of the first JSON object that the text never closes; no span starts after it. */
  readonly truncatedAt: number | undefined;
}

interface OpenBracket {
  readonly start: number;
  readonly closer: '}' | ']';
  /** Whether what follows looks like JSON. In prose a quote opens no string. */
  readonly isJson: boolean;
}

const bracketPattern = /[[\]{}"`]/g;
const jsonObjectStart = /\{\s*(?:["'}]|$)/y;
const jsonListStart = /\[\s*[-{["'\]0-9tfn]/y;

/**
 * Bracket matching with a stack, in one pass from an index on. Reasoning is skipped. Inside or outside of JSON is
 * decided by the innermost open bracket.
 *
 * | character   | outside of JSON                                  | inside of JSON                                       |
 * | ----------- | ------------------------------------------------ | ---------------------------------------------------- |
 * | `{` or `[`  | is pushed                                        | is pushed                                            |
 * | `}` or `]`  | pops up to its opener, which becomes a span if it looks like JSON | the same                            |
 * | backtick    | the code span is skipped                         | is ignored                                           |
 * | `"`         | is ignored                                       | the string is skipped; is ignored if the line ends first |
 */
export function matchBrackets(text: string, from: number, skipReasoning: SkipReasoning): BracketMatch {
  const openBrackets = new OpenBrackets();
  let spans: BracketSpan[] = [];
  // Quotes before this index open no string: their line has no closing quote. Remembered, to stay linear in time.
  let noStringBefore = from;
  let next = from;
  for (;;) {
    bracketPattern.lastIndex = next;
    if (!bracketPattern.test(text)) break;
    const index = bracketPattern.lastIndex - 1;
    next = skipReasoning(index);
    if (next > index) continue;
    next = index + 1;
    const character = text[index];
    if (character === '{') {
      openBrackets.push({ start: index, closer: '}', isJson: matchesAt(jsonObjectStart, text, index) });
    } else if (character === '[') {
      openBrackets.push({ start: index, closer: ']', isJson: matchesAt(jsonListStart, text, index) });
    } else if (character === '}' || character === ']') {
      const opener = openBrackets.close(character);
      if (opener === undefined) continue;
      while ((spans.at(-1)?.start ?? -1) > opener.start) spans.pop();
      if (opener.isJson) spans.push({ start: opener.start, end: next });
    } else if (character === '`') {
      if (!openBrackets.inJson) next = skipInlineCode(text, index);
    } else if (openBrackets.inJson && index >= noStringBefore) {
      const stringEnd = closingQuoteOrLineEnd(text, next);
      if (text[stringEnd] === '\n') noStringBefore = stringEnd;
      else next = stringEnd + 1;
    }
  }
  const truncatedAt = openBrackets.firstJsonObject();
  if (truncatedAt !== undefined) spans = spans.filter(({ start }) => start < truncatedAt);
  return { spans, truncatedAt };
}

/** The stack of open brackets. */
class OpenBrackets {
  readonly #stack: OpenBracket[] = [];
  readonly #countByCloser = { '}': 0, ']': 0 };

  /** Whether the innermost open bracket looks like JSON. */
  get inJson(): boolean {
    return this.#stack.at(-1)?.isJson ?? false;
  }

  push(opener: OpenBracket): void {
    this.#stack.push(opener);
    this.#countByCloser[opener.closer]++;
  }

  /** Removes the innermost bracket with this closer, and the unclosed ones inside of it. */
  close(closer: OpenBracket['closer']): OpenBracket | undefined {
    // The count spares a search of the whole stack for a closer without an opener.
    if (this.#countByCloser[closer] === 0) return undefined;
    let opener = this.#stack.pop();
    while (opener !== undefined && opener.closer !== closer) {
      this.#countByCloser[opener.closer]--;
      opener = this.#stack.pop();
    }
    this.#countByCloser[closer]--;
    return opener;
  }

  /** Start of the outermost open object that looks like JSON. */
  firstJsonObject(): number | undefined {
    return this.#stack.find(({ closer, isJson }) => closer === '}' && isJson)?.start;
  }
}

function matchesAt(pattern: RegExp, text: string, index: number): boolean {
  pattern.lastIndex = index;
  return pattern.test(text);
}
