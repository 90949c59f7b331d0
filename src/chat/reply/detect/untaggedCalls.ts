import {
  endOfMatch,
  closingQuoteOrLineEnd,
  parseJsonAt,
  skipSeparators,
  skipWhiteSpace,
} from '../../json/lenientParser.ts';
import { skipInlineCode } from './markdownCode.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';
import { type CallSpan, type CallSpans, createCallSpan, extractCalls, type ParsedCall } from './callShape.ts';
import { type ParsedObject, parseObjects } from './objectList.ts';
import type { DetectionContext } from './tags.ts';

/** The calls of a text without tags. */
export interface UntaggedCallSpans extends CallSpans {
  /** Whether everything from `truncatedAt` to the end of the text is one JSON value, so that a tag there is in a string. */
  readonly truncatedInValue: boolean;
}

/**
 * Finds calls that are bare JSON.
 *
 * | position                                         | parser  | counts as calls                                        |
 * | ------------------------------------------------ | ------- | ------------------------------------------------------ |
 * | start of the text, after white space and reasoning | lenient | objects that are calls; a list only if all of it is    |
 * | anywhere after that, between outermost brackets  | strict  | an object that is a call; a closed list of calls only  |
 */
export function untaggedCalls(text: string, context: DetectionContext): UntaggedCallSpans {
  const { skipReasoning } = context;
  const leading = leadingCalls(text, visibleStart(text, skipReasoning), context);
  if (leading.truncatedAt !== undefined) return { ...leading, truncatedInValue: true };
  const { spans, truncatedAt } = matchBrackets(text, leading.end, skipReasoning);
  const truncatedValue = truncatedAt === undefined ? undefined : parseJsonAt(text, truncatedAt);
  return {
    spans: [...leading.spans, ...spans.flatMap((span) => callsInBrackets(text, span, context))],
    truncatedAt,
    truncatedInValue: truncatedValue !== undefined && !truncatedValue.ok && truncatedValue.truncated,
  };
}

// Lenient parsing is safe only here: a text that starts with a bracket is a call or an answer in JSON.
function leadingCalls(
  text: string,
  start: number,
  { keys, tags, thought }: DetectionContext,
): CallSpans & { readonly end: number } {
  if (text[start] !== '{' && text[start] !== '[') return { spans: [], truncatedAt: undefined, end: start };
  const { objects, list, end, error } = parseObjects(text, start, tags.closingTag);
  const parsedCalls = objects.map(({ value }) => extractCalls(value, keys, { tagged: false, lenient: true, thought }));
  const truncated = error === undefined ? skipSeparators(text, end) === text.length : error.truncatedIn !== undefined;
  const isData = list !== 'none' && (hasOtherObject(parsedCalls) || (list === 'open' && !truncated));
  if (isData) return { spans: [], truncatedAt: undefined, end: list === 'closed' ? end : start };
  const spans = toCallSpans(text, objects, parsedCalls);
  return { spans, truncatedAt: error?.truncatedIn && error.start, end: error?.start ?? end };
}

function callsInBrackets(
  text: string,
  { start, end }: BracketSpan,
  { keys, thought }: DetectionContext,
): readonly CallSpan[] {
  const options = { tagged: false, lenient: false, thought };
  if (text[start] === '{') {
    const parsed = parseJsonAt(text, start);
    const calls = parsed.ok ? extractCalls(parsed.value, keys, options) : [];
    return calls.length === 0 ? [] : [createCallSpan(text, { start, end, repaired: false }, calls)];
  }
  const { objects, list } = parseObjects(text, start, undefined);
  const parsedCalls = objects.map(({ value }) => extractCalls(value, keys, options));
  const isData = list !== 'closed' || hasOtherObject(parsedCalls);
  return isData ? [] : toCallSpans(text, objects, parsedCalls);
}

/** Whether one of the objects is no call. */
const hasOtherObject = (callsByObject: readonly (readonly ParsedCall[])[]): boolean =>
  callsByObject.some((calls) => calls.length === 0);

const toCallSpans = (
  text: string,
  objects: readonly ParsedObject[],
  callsByObject: readonly (readonly ParsedCall[])[],
): readonly CallSpan[] =>
  objects.flatMap((object, index) => {
    const calls = callsByObject[index] ?? [];
    return calls.length === 0 ? [] : [createCallSpan(text, object, calls)];
  });

/** Index of the first character that is neither white space nor reasoning. */
function visibleStart(text: string, skipReasoning: SkipReasoning): number {
  let start = -1;
  for (let next = 0; next !== start; next = skipReasoning(skipWhiteSpace(text, next))) start = next;
  return start;
}

/** A range of a text that starts with an opening bracket and ends with its closing one; `end` is exclusive. */
interface BracketSpan {
  readonly start: number;
  readonly end: number;
}

/** The matched brackets of a text. */
interface BracketMatch {
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
function matchBrackets(text: string, from: number, skipReasoning: SkipReasoning): BracketMatch {
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
      openBrackets.push({ start: index, closer: '}', isJson: endOfMatch(jsonObjectStart, text, index) !== undefined });
    } else if (character === '[') {
      openBrackets.push({ start: index, closer: ']', isJson: endOfMatch(jsonListStart, text, index) !== undefined });
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
