import { matchBrackets, type BracketSpan } from './brackets.ts';
import { createCallSpan, type CallSpans, type CallSpan } from './callSpan.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';
import { skipSeparators } from '../../json/separators.ts';
import { parseObjects, type ParsedObject } from './objectList.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import { extractCalls, type ParsedCall } from './callShape.ts';
import type { DetectionContext } from './detectionContext.ts';

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
  for (let next = 0; next !== start; next = skipReasoning(skipWhitespace(text, next))) start = next;
  return start;
}

const whitespace = /\s*/y;

function skipWhitespace(text: string, index: number): number {
  whitespace.lastIndex = index;
  whitespace.test(text);
  return whitespace.lastIndex;
}
