import { skipOpeningFence } from '../../markdownCode.ts';
import { callSpans, createCallSpan, type CallSpans, type CallSpan } from './callShape.ts';
import { parseArguments, type ParsedArguments } from './callShape.ts';
import { type DetectionContext, toolNameIn, withLeadingText, type Tag, type TaggedBlock, type TagSet } from './tags.ts';
import { endOfMatch, skipSeparators } from '../../json/lenientParser.ts';
import { parseObjectAt, parseObjects, type ObjectListError } from '../../json/objectList.ts';

/** Finds the calls in tags. The tags of all formats count, because models also write those of other families. */
export function taggedCalls(text: string, context: DetectionContext): CallSpans {
  const { tags, skipReasoning } = context;
  const blocks: (readonly CallSpan[])[] = [];
  let tag = tags.next(text, 0, skipReasoning);
  while (tag !== undefined) {
    const block = parseBlock(text, tag, context);
    if (block.spans.length > 0) blocks.push(block.spans);
    if (block.truncated) return { spans: blocks.flat(), truncatedAt: tag.start };
    tag = tags.next(text, block.end, skipReasoning);
  }
  return { spans: blocks.flat(), truncatedAt: undefined };
}

/** Tags in front of the same calls, such as `<tool_call><function=f>`; a single tag is both. */
interface NestedTags {
  /** The first, where the span of the calls starts. */
  readonly outer: Tag;
  /** The last, which decides what may follow. */
  readonly inner: Tag;
}

const callsStart = /(?:\[\s*)?\{\s*(?:["'}]|$)|\[\s*$/y;
const compactCall = /([\w.-]{1,128})(?:\[CALL_ID\][\w-]{0,128})?(?:\[ARGS\]\s*|(?=\{))/y;
const truncatedCompactCall = /[\w.-]{1,128}(?:\[CALL_ID\][\w-]{0,128})?(?:\[[A-Z_]{0,8})?$/y;

/**
 * Parses what follows a tag, after nested tags and an opening code fence:
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
function parseBlock(text: string, first: Tag, context: DetectionContext): TaggedBlock {
  const outer = withLeadingText(first, text);
  let inner = first;
  let contentStart = skipOpeningFence(text, inner.end);
  for (let tag = context.tags.at(text, contentStart); tag; tag = context.tags.at(text, contentStart)) {
    inner = tag;
    contentStart = skipOpeningFence(text, inner.end);
  }
  const tags: NestedTags = { outer, inner };
  const own = inner.kind.read?.(text, inner, outer, context);
  if (own) return own;
  if (contentStart === text.length) return { spans: [], end: contentStart, truncated: true };
  if (inner.kind.holds === 'arguments') {
    const name = toolNameIn(text, inner);
    if (name === '') return { spans: [], end: inner.end, truncated: false };
    return parseNamedCall(text, tags, { name, nameStart: inner.start, argumentsStart: contentStart }, context.tags);
  }
  if (inner.kind.holds === 'calls or a name') {
    compactCall.lastIndex = contentStart;
    const name = compactCall.exec(text)?.[1];
    if (name !== undefined) {
      const call = { name, nameStart: contentStart, argumentsStart: compactCall.lastIndex };
      return parseNamedCall(text, tags, call, context.tags);
    }
    if (endOfMatch(truncatedCompactCall, text, contentStart) !== undefined)
      return { spans: [], end: contentStart, truncated: true };
  }
  return parseCalls(text, tags, contentStart, context);
}

function parseCalls(
  text: string,
  { outer, inner }: NestedTags,
  start: number,
  { keys, tags, thought }: DetectionContext,
): TaggedBlock {
  if (endOfMatch(callsStart, text, start) === undefined) return { spans: [], end: inner.end, truncated: false };
  const { objects, list, end, error } = parseObjects(text, start, tags.closingTag);
  const spans = callSpans(text, objects, keys, { tagged: true, lenient: true, thought }).map((span) =>
    span.start === objects[0]?.start ? { ...span, start: outer.start } : span,
  );
  if (error !== undefined) return recoverFrom(text, inner, error, spans);
  const truncated = list === 'open' && objects.length === 0 && skipSeparators(text, start + 1) === text.length;
  return { spans, end, truncated };
}

interface NamedCall {
  readonly name: string;
  readonly nameStart: number;
  readonly argumentsStart: number;
}

function parseNamedCall(
  text: string,
  { outer, inner }: NestedTags,
  { name, nameStart, argumentsStart }: NamedCall,
  { closingTag }: TagSet,
): TaggedBlock {
  const toBlock = (end: number, repaired: boolean, parsed: ParsedArguments | undefined): TaggedBlock => {
    const span = parsed && createCallSpan(text, { start: nameStart, end, repaired }, [{ name, ...parsed }]);
    return { spans: span ? [{ ...span, start: outer.start }] : [], end, truncated: false };
  };
  if (argumentsStart === text.length) return { spans: [], end: argumentsStart, truncated: true };
  if (endOfMatch(closingTag, text, argumentsStart) !== undefined)
    return toBlock(argumentsStart, false, parseArguments(undefined, false));
  if (text[argumentsStart] !== '{') return { spans: [], end: inner.end, truncated: false };
  const object = parseObjectAt(text, argumentsStart, closingTag);
  if ('truncatedIn' in object) return recoverFrom(text, inner, object, []);
  return toBlock(object.end, object.repaired, parseArguments(object.value, true));
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
