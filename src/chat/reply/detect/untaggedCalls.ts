import { parseJsonAt, skipSeparators } from '../../json/lenientParser.ts';
import { isJsonObject } from '../../json/value.ts';
import { noMarks } from '../markFinder.ts';
import type { TextRange } from '../../markSearch.ts';
import { type Token, tokensOf } from '../tokens.ts';
import { visibleStart } from '../reasoning/splitReply.ts';
import { type CallSpan, type CallSpans, callSpans } from './callShape.ts';
import { type ParsedObject, parseObjects } from '../../json/objectList.ts';
import type { DetectedCall } from '../../tool.ts';
import { isMisspelled } from '../whyNoCall.ts';
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
  // Outside of all brackets of JSON, and before one that nothing closes.
  const tokens = tokensOf(text, noMarks, {
    toolNames: new Set(),
    isBareSearched: false,
    skip: (index) => skipReasoning(Math.max(index, leading.end)),
  });
  const truncatedAt = tokens.find(
    ({ kind, pair, start, isJson }) => kind === 'opener' && isJson && pair === undefined && text[start] === '{',
  )?.start;
  const inside = new Set<Token>();
  const values = tokens.filter((token) => {
    const { kind, parent, start } = token;
    if (parent && (inside.has(parent) || (parent.pair && '[{'.includes(parent.text)))) inside.add(token);
    return kind === 'data' && !inside.has(token) && start < (truncatedAt ?? Infinity);
  });
  const truncatedValue = truncatedAt === undefined ? undefined : parseJsonAt(text, truncatedAt);
  return {
    spans: [...leading.spans, ...values.flatMap((value) => callsInBrackets(text, value, context))],
    truncatedAt,
    truncatedInValue: truncatedValue !== undefined && !truncatedValue.ok && truncatedValue.truncated,
  };
}

// Lenient parsing is safe only here: a text that starts with a bracket is a call or an answer in JSON.
function leadingCalls(text: string, start: number, context: DetectionContext): CallSpans & Pick<TextRange, 'end'> {
  if (text[start] !== '{' && text[start] !== '[') return { spans: [], truncatedAt: undefined, end: start };
  const { objects, list, end, error } = parseObjects(text, start, context.tags.closingTag);
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
  const isOffered = (call: DetectedCall): boolean =>
    tools.some(({ name }) => name === call.name || (call.arguments.size > 0 && isMisspelled(call.name, name)));
  // Keys that only calls have tell as much as a tag.
  const hasOwnKeys = ({ value }: ParsedObject): boolean =>
    keys.name === 'tool' && isJsonObject(value) && value.has(keys.name) && value.has(keys.arguments);
  const own = new Set(objects.filter(hasOwnKeys).map(({ start }) => start));
  const isCall = ({ rawStart, calls }: CallSpan): boolean => own.has(rawStart) || calls.every(isOffered);
  return tools.length === 0 ? spans : spans.filter(isCall);
}
