import { distance } from 'fastest-levenshtein';
import { endOfMatch, parseJsonAt, skipSeparators } from '../../json/lenientParser.ts';
import { isJsonObject } from '../../json/value.ts';
import { OpenBrackets } from '../brackets.ts';
import type { TextRange } from '../marks.ts';
import { skipInlineCode } from './markdownCode.ts';
import { type SkipReasoning, visibleStart } from '../reasoning/splitReply.ts';
import { type CallSpan, type CallSpans, callSpans } from './callShape.ts';
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
  const leading = leadingCalls(text, visibleStart(text, 0, skipReasoning), context);
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
  { tags, ...context }: DetectionContext,
): CallSpans & { readonly end: number } {
  if (text[start] !== '{' && text[start] !== '[') return { spans: [], truncatedAt: undefined, end: start };
  const { objects, list, end, error } = parseObjects(text, start, tags.closingTag);
  const spans = offeredCalls(text, objects, true, context);
  const truncated = error === undefined ? skipSeparators(text, end) === text.length : error.truncatedIn !== undefined;
  const isData = list !== 'none' && (spans.length < objects.length || (list === 'open' && !truncated));
  if (isData) return { spans: [], truncatedAt: undefined, end: list === 'closed' ? end : start };
  return { spans, truncatedAt: error?.truncatedIn && error.start, end: error?.start ?? end };
}

function callsInBrackets(text: string, { start, end }: TextRange, context: DetectionContext): readonly CallSpan[] {
  if (text[start] === '{') {
    const parsed = parseJsonAt(text, start);
    return parsed.ok ? offeredCalls(text, [{ value: parsed.value, start, end, repaired: false }], false, context) : [];
  }
  const { objects, list } = parseObjects(text, start, undefined);
  const spans = offeredCalls(text, objects, false, context);
  return list === 'closed' && spans.length === objects.length ? spans : [];
}

/** The calls of offered tools: without a tag, an object with another name is data. */
function offeredCalls(
  text: string,
  objects: readonly ParsedObject[],
  lenient: boolean,
  { keys, thought, tools }: Pick<DetectionContext, 'keys' | 'thought' | 'tools'>,
): readonly CallSpan[] {
  const spans = callSpans(text, objects, keys, { tagged: false, anyKeys: tools.length > 0, lenient, thought });
  // One letter may be wrong.
  const isOffered = (called: string): boolean =>
    tools.some(({ name }) => name === called || (called.length > 2 && distance(name, called) === 1));
  // Keys that only calls have tell as much as a tag.
  const hasOwnKeys = ({ value }: ParsedObject): boolean =>
    keys.name === 'tool' && isJsonObject(value) && value.has(keys.name) && value.has(keys.arguments);
  const own = new Set(objects.filter(hasOwnKeys).map(({ start }) => start));
  return tools.length === 0
    ? spans
    : spans.filter(({ rawStart, calls }) => own.has(rawStart) || calls.every(({ name }) => isOffered(name)));
}

/** The matched brackets of a text. */
interface BracketMatch {
  /** The outermost closed ranges, in order, without those that cannot be JSON. */
  readonly spans: readonly TextRange[];
  /** Start of the first JSON object that the text never closes; no span starts after it. */
  readonly truncatedAt: number | undefined;
}

const bracketPattern = /[[\]{}"`]/g;
const jsonStart = /\{\s*(?:["'}]|$)|\[\s*[-{["'\]0-9tfn]/y;

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
  const brackets = new OpenBrackets(text);
  const spans: TextRange[] = [];
  bracketPattern.lastIndex = from;
  for (let match = bracketPattern.exec(text); match; match = bracketPattern.exec(text)) {
    const { index, 0: character } = match;
    const next = skipReasoning(index);
    if (next > index) bracketPattern.lastIndex = next;
    else if (character === '{' || character === '[')
      brackets.open(index, endOfMatch(jsonStart, text, index) !== undefined);
    else if (character === '}' || character === ']') {
      const opener = brackets.close(character);
      if (opener === undefined) continue;
      while ((spans.at(-1)?.start ?? -1) > opener.start) spans.pop();
      if (opener.isJson) spans.push({ start: opener.start, end: index + 1 });
    } else if (character === '`') {
      if (!brackets.inJson) bracketPattern.lastIndex = skipInlineCode(text, index);
    } else if (brackets.inJson) bracketPattern.lastIndex = (brackets.stringEnd(index) ?? index) + 1;
  }
  const truncatedAt = brackets.jsonObject;
  return { spans: spans.filter(({ start }) => start < (truncatedAt ?? Infinity)), truncatedAt };
}
