import { untaggedCalls, type UntaggedCallSpans } from './untaggedCalls.ts';
import type { CallSpans, CallSpan } from './callSpan.ts';
import { createReasoningSkipper, impliedReasoning, reasoningSpans, skipSpans } from '../reasoning/reasoningSpans.ts';
import { residualText } from './residualText.ts';
import type { CallKeys } from './callShape.ts';
import type { DetectionContext } from './detectionContext.ts';
import { taggedCalls } from './taggedCalls.ts';
import { commonTags, type TagSet } from './tags.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../replyMarks.ts';
import type { DetectOptions, Detection } from '../../tool.ts';

/**
 * Tool-call parser: finds the calls in the complete output of a model. `keys` are the JSON keys under which the format
 * writes a call's name and arguments. Takes time linear in the length of the text and never throws, whatever the text.
 *
 * Tagged calls (`<tool_call>{...}`) take precedence over untagged ones (bare JSON), unless the tag is in a string of an
 * untagged call:
 *
 * | the first tag with a call is                      | the result                                              |
 * | ------------------------------------------------- | ------------------------------------------------------- |
 * | absent                                            | the untagged calls                                      |
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
  const isNative = tags !== commonTags;
  const hidden = isNative && found.spans.length === 0 ? unclosedCalls(text, context, marks) : undefined;
  const { spans, truncatedAt } = hidden ?? callsAtStart(text, { found, context, marks }) ?? found;
  return {
    calls: spans.flatMap(({ calls }) => calls),
    residual: residualText(text, spans, tags),
    truncated: truncatedAt !== undefined,
  };
}

function findCalls(text: string, context: DetectionContext): CallSpans {
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
 * Calls in the marks of a model's own layout at the end of reasoning that is never closed: the model has ended its reply
 * with them. undefined: the reasoning is closed, or goes on after the calls.
 */
function unclosedCalls(text: string, context: DetectionContext, marks: ReplyMarks): CallSpans | undefined {
  const reasoning = reasoningSpans(text, marks);
  const last = reasoning.at(-1);
  if (!last?.unclosed) return undefined;
  const found = taggedCalls(text, { ...context, skipReasoning: skipSpans(reasoning.slice(0, -1)) });
  const end = found.spans.at(-1)?.end;
  const isLast = end !== undefined && context.tags.skipClosers(text, end) === text.trimEnd().length;
  return isLast && found.truncatedAt === undefined ? found : undefined;
}

interface FoundCalls {
  readonly found: CallSpans;
  readonly context: DetectionContext;
  readonly marks: ReplyMarks;
}

/**
 * The calls of a text that starts with a call, where a value of that call has a mark which closes reasoning that nothing
 * has opened: the mark is a part of the value. undefined: the text is another one, or has calls after the mark.
 */
function callsAtStart(text: string, { found, context, marks }: FoundCalls): CallSpans | undefined {
  const implied = found.spans.length === 0 ? impliedReasoning(text, marks) : undefined;
  if (!implied) return undefined;
  const calls = taggedCalls(text, { ...context, skipReasoning: (index) => index });
  const [first] = calls.spans;
  const isAtStart = first !== undefined && text.slice(0, first.start).trim() === '';
  return isAtStart && text.indexOf(implied.close) < first.end ? calls : undefined;
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
