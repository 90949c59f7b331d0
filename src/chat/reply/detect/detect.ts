import { callBlocks, isProse } from '../splitMarkup.ts';
import { callWord } from '../tokens.ts';
import type { TextRange } from '../../markSearch.ts';
import { skipClosingFence, wholeJson } from '../../markdownCode.ts';
import type { CallKeys, CallSpan, CallSpans } from './callShape.ts';
import { canonicalJson } from '../../json/value.ts';
import { skipSeparators } from '../../json/lenientParser.ts';
import { commonTags, type DetectionContext, type TagSet, withoutEndTokens } from './tags.ts';
import { untaggedCalls, type UntaggedCallSpans } from './untaggedCalls.ts';
import { createReasoningSkipper, impliedReasoning, reasoningSpans, skipSpans } from '../reasoning/splitReply.ts';
import { taggedCalls } from './taggedCalls.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../replyMarks.ts';
import type { Detection, DetectOptions } from '../../tool.ts';

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
  const context = { keys, tags, tools, thought, skipReasoning: createReasoningSkipper(text, marks) };
  const found = findCalls(text, context);
  const hidden = found.spans.length > 0 ? undefined : hiddenCalls(text, context, marks);
  const { spans, truncatedAt } = hidden ?? found;
  const calls = spans.flatMap((span) => span.calls);
  const read = closedRanges(text, spans, tags);
  const blocks = callBlocks(text, read, tools.length > 0);
  const residual = residualText(text, blocks, spans, tags);
  const truncated = truncatedAt !== undefined;
  const cutOff = truncated && tags.at(text, truncatedAt) ? withoutEndTokens(text.slice(truncatedAt)) : '';
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
  const beforeTag = untaggedCalls(text.slice(0, firstTag), context);
  return { ...beforeTag, truncatedAt: firstTag };
}

/**
 * The calls in what looks like reasoning and is none: calls in the marks of a model's own layout with which reasoning ends
 * that is never closed, and those of a text that starts with a call which has a mark in a value that closes reasoning.
 */
function hiddenCalls(text: string, context: DetectionContext, marks: ReplyMarks): CallSpans | undefined {
  const reasoning = reasoningSpans(text, marks);
  const isUnclosed = reasoning.at(-1)?.isUnclosed === true && context.tags !== commonTags;
  const implied = impliedReasoning(text, marks);
  if (!isUnclosed && !implied) return undefined;
  const skipped = isUnclosed ? reasoning.slice(0, -1) : [];
  const found = taggedCalls(text, { ...context, skipReasoning: skipSpans(skipped) });
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

/** The calls with what closes them. */
const closedRanges = (text: string, spans: readonly CallSpan[], tags: TagSet): readonly TextRange[] =>
  spans.map(({ start, rawStart, end }) => {
    const isFenced = text.slice(start, rawStart).includes('```');
    const fenceEnd = isFenced ? skipClosingFence(text, tags.skipClosers(text, end)) : undefined;
    return { start, end: tags.skipClosers(text, fenceEnd ?? end) };
  });

/**
 * The text around the blocks of calls, without what only wraps the calls (closing tags, separators, end tokens) and without
 * JSON that only repeats the arguments of a call. The pieces between calls become lines.
 */
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
