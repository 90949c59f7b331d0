import { callBlocks, isProse } from '../splitMarkup.ts';
import { callWord, type Token, tokensOf } from '../tokens.ts';
import { SearchedText, type TextRange } from '../../markSearch.ts';
import { skipClosingFence, wholeJson, skipOpeningFence } from '../../markdownCode.ts';
import type { CallKeys, CallSpan, CallSpans } from './callShape.ts';
import { callSpans, createCallSpan, parseArguments } from './callShape.ts';
import { canonicalJson, isJsonObject } from '../../json/value.ts';
import { skipSeparators, endOfMatch, parseJsonAt } from '../../json/lenientParser.ts';
import type { DetectionContext, TagSet, Tag, TaggedBlock } from './tags.ts';
import { commonTags, withoutEndTokens, toolNameIn, withLeadingText } from './tags.ts';
import { type ReasoningSpans, reasoningSpans, skipSpans, visibleStart } from '../reasoning/splitReply.ts';
import { defaultReplyMarks } from '../../replyMarks.ts';
import type { Detection, DetectOptions, DetectedCall } from '../../tool.ts';
import { parseObjectAt, parseObjects, type ObjectListError, type ParsedObject } from '../../json/objectList.ts';
import { noMarks } from '../markFinder.ts';
import { isMisspelled } from '../whyNoCall.ts';

/**
 * Tool-call parser: finds the calls in the complete output of a model. `keys` are the JSON keys under which the format
 * writes a call's name and arguments. Takes time linear in the length of the text and never throws, whatever the text.
 *
 * Tagged calls (`<tool_call>{...}`) take precedence over untagged ones (bare JSON), unless the tag is in a string of an
 * untagged call:
 *
 * | the first tag with a call is                      | the result                                              |
 * | ------------------------------------------------- | ------------------------------------------------------- |
 * | absent                                            | the untagged calls; next to prose none, if the model has tags of its own |
 * | before any `{`                                    | the tagged calls                                        |
 * | after a `{`; some tagged calls are in no string   | the tagged calls that are in no string                  |
 * | after a `{`; all tagged calls are in strings      | the untagged calls                                      |
 * | cut off by the end of the text, in a string       | the untagged calls                                      |
 * | cut off by the end of the text, in no string      | the untagged calls before the tag; the text is truncated |
 */
export function detect(
  text: string,
  keys: CallKeys,
  { tools = [], marks = defaultReplyMarks, thought = false }: DetectOptions = {},
  tags: TagSet = commonTags,
): Detection {
  const reasoning = reasoningSpans(text, marks);
  const skipReasoning = skipSpans(reasoning.spans);
  const context = { source: new SearchedText(text), keys, tags, tools, thought, skipReasoning };
  const found = findCalls(text, context);
  const hidden = found.spans.length > 0 ? undefined : hiddenCalls(text, context, reasoning);
  const { spans, truncatedAt } = hidden ?? found;
  const calls = spans.flatMap((span) => span.calls);
  const truncated = truncatedAt !== undefined;
  const isCutOff = truncated && tags.at(text, truncatedAt) !== undefined;
  const lastEnd = spans.at(-1)?.end ?? 0;
  // After complete calls in the same marks, the rest of the text is the call that is cut off.
  const whole = isCutOff && lastEnd > truncatedAt ? text.slice(0, lastEnd) : text;
  const read = closedRanges(whole, spans, tags);
  const blocks = callBlocks(whole, read, tools.length > 0);
  // The text from there on, without the calls in it that are complete.
  const rest = isCutOff ? Math.max(truncatedAt, tags.skipClosers(text, lastEnd)) : text.length;
  const cutOff = withoutEndTokens(text.slice(skipSeparators(text, rest)));
  const known = residualText(whole, blocks, spans, tags);
  const residual = whole === text ? known : `${known}\n${cutOff}`.trim();
  // The model has marks for its calls: without any, next to prose, they are examples or data.
  const isBare =
    tags.hasOwn &&
    'truncatedInValue' in (hidden ?? found) &&
    isProse(residual) &&
    !/<[\w|/]|\[[A-Z_/]{3}/.test(residual) &&
    !blocks.some(({ hasMark }) => hasMark) &&
    !spans.some(({ end }, index) => callWord.test(text.slice(end, read[index]?.end)));
  if (!isBare) return { calls, residual, truncated, cutOff };
  const reason = 'it stands next to prose, without the marks of a call';
  const unread = callBlocks(text, spans, true).map(({ start, end }) => ({ text: text.slice(start, end), reason }));
  return { calls: [], residual: withoutEndTokens(text).trim(), unread, truncated, cutOff };
}

function findCalls(text: string, context: DetectionContext): CallSpans | UntaggedCallSpans {
  const tagged = taggedCalls(text, context);
  const firstTag = tagged.spans[0]?.start ?? tagged.truncatedAt;
  if (firstTag === undefined) return untaggedCalls(text, context);
  if (!text.slice(0, firstTag).includes('{')) return tagged;
  const untagged = untaggedCalls(text, context);
  const spans = notInsideUntaggedCall(tagged.spans, untagged);
  if (spans.length > 0) return { ...tagged, spans };
  const isInString =
    tagged.spans.length > 0 || untagged.spans.some(({ start, end }) => start < firstTag && firstTag < end);
  if (isInString) return untagged;
  return { ...untaggedCalls(text.slice(0, firstTag), context), truncatedAt: firstTag };
}

/**
 * The calls in what looks like reasoning and is none: calls in the marks of a model's own layout with which reasoning ends
 * that is never closed, and those of a text that starts with a call which has a mark in a value that closes reasoning.
 */
function hiddenCalls(text: string, context: DetectionContext, reasoning: ReasoningSpans): CallSpans | undefined {
  const { spans, implied } = reasoning;
  const isUnclosed = reasoning.isUnclosed && context.tags !== commonTags;
  if (!isUnclosed && !implied) return undefined;
  const skipped = isUnclosed ? spans.slice(0, -1) : [];
  const search = isUnclosed ? taggedCalls : findCalls;
  const found = search(text, { ...context, skipReasoning: skipSpans(skipped) });
  const [first, last] = [found.spans[0], found.spans.at(-1)];
  if (!first || !last) return undefined;
  const isAtEnd = context.tags.skipClosers(text, last.end) === text.trimEnd().length;
  if (isUnclosed) return isAtEnd && found.truncatedAt === undefined ? found : undefined;
  const isAtStart = text.slice(0, first.start).trim() === '';
  return isAtStart && implied && text.indexOf(implied.close) < first.end ? found : undefined;
}

// A tag in a string of an untagged call is text: what looks like a call there is a part of an argument.
function notInsideUntaggedCall(
  tagged: readonly CallSpan[],
  { spans: untagged, truncatedAt, truncatedInValue }: UntaggedCallSpans,
): readonly CallSpan[] {
  const truncatedValueStart = truncatedInValue && truncatedAt !== undefined ? truncatedAt : Infinity;
  // Both lists are in the order of the text: the first untagged call that does not end before the tag.
  let current = 0;
  return tagged.filter(({ start }) => {
    while ((untagged[current]?.end ?? Infinity) <= start) current++;
    return start < truncatedValueStart && start <= (untagged[current]?.start ?? Infinity);
  });
}

const closedRanges = (text: string, spans: readonly CallSpan[], tags: TagSet): readonly TextRange[] =>
  spans.map(({ start, rawStart, end }) => {
    const isFenced = text.slice(start, rawStart).includes('```');
    const fenceEnd = isFenced ? skipClosingFence(text, tags.skipClosers(text, end)) : undefined;
    return { start, end: tags.skipClosers(text, fenceEnd ?? end) };
  });

/** The text without calls, what wraps them, and JSON that repeats their arguments. Pieces become lines. */
function residualText(text: string, blocks: readonly TextRange[], spans: readonly CallSpan[], tags: TagSet): string {
  if (blocks.length === 0) return withoutEndTokens(text).trim();
  let from = 0;
  const pieces = blocks.map(({ start, end }) => {
    const piece = text.slice(from, start);
    from = tags.skipClosers(text, end);
    // Separators before another object belong to the calls; those before prose are text.
    const next = skipSeparators(text, from);
    if (text[next] === '{') from = next;
    return piece;
  });
  pieces.push(withoutEndTokens(text.slice(from)));
  const lines = pieces.map((piece) => piece.trim()).filter((piece) => skipSeparators(piece, 0) < piece.length);
  const callArguments = new Set(spans.flatMap(({ calls }) => calls.map((call) => canonicalJson(call.arguments))));
  const isEcho = (line: string): boolean => {
    const whole = /^[{`]/.test(line) ? wholeJson(line) : undefined;
    return whole !== undefined && callArguments.has(canonicalJson(whole.value));
  };
  return lines.filter((line) => !isEcho(line)).join('\n');
}

/** Finds the calls in tags. The tags of all formats count, because models also write those of other families. */
function taggedCalls(text: string, context: DetectionContext): CallSpans {
  const { tags, skipReasoning } = context;
  const blocks: (readonly CallSpan[])[] = [];
  let end = 0;
  for (let tag = tags.next(text, 0, skipReasoning); tag; tag = tags.next(text, end, skipReasoning)) {
    const block = parseBlock(text, tag, context);
    blocks.push(block.spans);
    if (block.truncated) return { spans: blocks.flat(), truncatedAt: tag.start };
    end = block.end;
  }
  return { spans: blocks.flat(), truncatedAt: undefined };
}

const beforeCalls = /[\s[]*/y;
const callsStart = /(?:\[\s*)?\{\s*(?:["'}]|$)|\[\s*$/y;
const compactCall = /([\w.-]{1,128})(?:\[CALL_ID\][\w-]{0,128})?(?:\[ARGS\]\s*|(?=\{))/y;
const truncatedCompactCall = /[\w.-]{1,128}(?:\[CALL_ID\][\w-]{0,128})?(?:\[[A-Z_]{0,8})?$/y;

/** Parses what follows a tag, or several such as `<tool_call><function=f>`: the last one decides what that may be. */
function parseBlock(text: string, first: Tag, context: DetectionContext): TaggedBlock {
  const outer = withLeadingText(first, text);
  let [inner, start] = [first, first.end];
  for (let tag: Tag | undefined = first; tag; tag = context.tags.at(text, start))
    [inner, start] = [tag, skipOpeningFence(text, tag.end)];
  const own = inner.kind.read?.(inner, outer, context);
  if (own) return own;
  const block = parseContent(text, inner, start, context);
  const [call, ...others] = block.spans;
  const isNext = call && call.start <= (endOfMatch(beforeCalls, text, start) ?? start);
  return isNext ? { ...block, spans: [{ ...call, start: outer.start }, ...others] } : block;
}

/**
 * Parses what follows nested tags and an opening code fence:
 *
 * | after the tag                                  | example                    | result                             |
 * | ---------------------------------------------- | -------------------------- | ---------------------------------- |
 * | the end of the text                            | `<tool_call>`              | truncated                          |
 * | arguments, because the tag names the tool      | `<function=f>{...}`        | one call                           |
 * | a name and arguments                           | `[TOOL_CALLS]f[ARGS]{...}` | one call                           |
 * | the beginning of a name, then the end          | `[TOOL_CALLS]get_ti`       | truncated                          |
 * | objects, or a list of them                     | `<tool_call>{...}`         | the calls in them                  |
 * | anything else                                  | `<tool_call>hello`         | no calls; the search continues     |
 */
function parseContent(text: string, tag: Tag, start: number, context: DetectionContext): TaggedBlock {
  const { keys, tags, thought } = context;
  const { holds } = tag.kind;
  const nothing = { spans: [], end: tag.end, truncated: false };
  if (start === text.length) return { spans: [], end: start, truncated: true };
  if (holds === 'arguments') {
    const name = toolNameIn(text, tag);
    return name === '' ? nothing : parseNamedCall(text, tag, { name, start: tag.start, end: start }, tags);
  }
  if (holds === 'calls or a name') {
    compactCall.lastIndex = start;
    const name = compactCall.exec(text)?.[1];
    if (name !== undefined) return parseNamedCall(text, tag, { name, start, end: compactCall.lastIndex }, tags);
    if (endOfMatch(truncatedCompactCall, text, start) !== undefined) return { spans: [], end: start, truncated: true };
  }
  if (endOfMatch(callsStart, text, start) === undefined) return nothing;
  const { objects, list, end, error } = parseObjects(text, start, tags.closingTag);
  const spans = callSpans(text, objects, keys, { tagged: true, lenient: true, thought });
  if (error !== undefined) return recoverFrom(text, tag, error, spans);
  const truncated = list === 'open' && objects.length === 0 && skipSeparators(text, start + 1) === text.length;
  return { spans, end, truncated };
}

type NamedCall = TextRange & { readonly name: string };

function parseNamedCall(text: string, tag: Tag, { name, start, end }: NamedCall, { closingTag }: TagSet): TaggedBlock {
  if (end === text.length) return { spans: [], end, truncated: true };
  const isEmpty = endOfMatch(closingTag, text, end) !== undefined;
  if (!isEmpty && text[end] !== '{') return { spans: [], end: tag.end, truncated: false };
  const object = isEmpty ? { value: null, end, repaired: false } : parseObjectAt(text, end, closingTag);
  if ('truncatedIn' in object) return recoverFrom(text, tag, object, []);
  const parsed = parseArguments(object.value, true);
  const spans = parsed ? [createCallSpan(text, { ...object, start }, [{ name, ...parsed }])] : [];
  return { spans, end: object.end, truncated: false };
}

/**
 * Where the search for tags continues after a value that could not be parsed. A tag in a string of the parsed part is
 * only text, unless it is one of the block's own kind: then that string has lost its closing quote.
 *
 * | the value                                      | the search continues at                                        |
 * | ---------------------------------------------- | -------------------------------------------------------------- |
 * | truncated for the strict parser                | nowhere: the text is truncated                                 |
 * | truncated for the lenient parser               | the closing tag of the block; without one the text is truncated |
 * | malformed                                      | the next opening or closing tag of the kind, or the error      |
 */
function recoverFrom(
  text: string,
  { kind }: Tag,
  { start, failedAt, truncatedIn }: ObjectListError,
  spans: readonly CallSpan[],
): TaggedBlock {
  if (truncatedIn === 'strict') return { spans, end: failedAt, truncated: true };
  if (truncatedIn === 'lenient') {
    const end = kind.closes === undefined ? -1 : text.indexOf(kind.closes, start);
    return { spans, end, truncated: end < 0 };
  }
  const parsedPart = text.slice(start, failedAt);
  const ends = [kind.opens, kind.closes ?? kind.opens].map((tag) => parsedPart.indexOf(tag)).filter((at) => at >= 0);
  return { spans, end: Math.min(failedAt, ...ends.map((at) => start + at)), truncated: false };
}

interface UntaggedCallSpans extends CallSpans {
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
function untaggedCalls(text: string, context: DetectionContext): UntaggedCallSpans {
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
