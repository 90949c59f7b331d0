import { skipOpeningFence } from '../../markdownCode.ts';
import type { TextRange } from '../../markSearch.ts';
import { callSpans, createCallSpan, type CallSpans, type CallSpan, parseArguments } from './callShape.ts';
import { type DetectionContext, toolNameIn, withLeadingText, type Tag, type TaggedBlock, type TagSet } from './tags.ts';
import { endOfMatch, skipSeparators } from '../../json/lenientParser.ts';
import { parseObjectAt, parseObjects, type ObjectListError } from '../../json/objectList.ts';

/** Finds the calls in tags. The tags of all formats count, because models also write those of other families. */
export function taggedCalls(text: string, context: DetectionContext): CallSpans {
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
  const own = inner.kind.read?.(text, inner, outer, context);
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

/** A name, and where its arguments follow. */
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
