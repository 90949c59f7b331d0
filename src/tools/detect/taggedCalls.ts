import { skipOpeningFence } from './codeFences.ts';
import { createCallSpan, type CallSpans, type CallSpan } from './callSpan.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';
import { skipSeparators, parseObjectAt, parseObjects, type ObjectListError } from './objectList.ts';
import { parseArguments, extractCalls, type CallKeys } from './callShape.ts';
import { closingTag, nextTag, tagAt, toolNameIn, type Tag } from './tags.ts';

/** Finds the calls that stand in tags, those of every format. */
export function taggedCalls(text: string, keys: CallKeys, skipReasoning: SkipReasoning): CallSpans {
  const blocks: (readonly CallSpan[])[] = [];
  let tag = nextTag(text, 0, skipReasoning);
  while (tag !== undefined) {
    const block = parseBlock(text, tag, keys);
    if (block.spans.length > 0) blocks.push(block.spans);
    if (block.truncated) return { spans: blocks.flat(), truncatedAt: tag.start };
    tag = nextTag(text, block.end, skipReasoning);
  }
  return { spans: blocks.flat(), truncatedAt: undefined };
}

/** What a tag opens. */
interface TaggedBlock {
  readonly spans: readonly CallSpan[];
  /** From where the next tag is looked for. */
  readonly end: number;
  readonly truncated: boolean;
}

const callsStart = /(?:\[\s*)?\{\s*(?:["'}]|$)|\[\s*$/y;
const compactCall = /([\w.-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\]\s*|(?=\{))/y;
const truncatedCompactCall = /[\w.-]+(?:\[CALL_ID\][\w-]*)?(?:\[[A-Z_]{0,8})?$/y;

function parseBlock(text: string, first: Tag, keys: CallKeys): TaggedBlock {
  let tag = first;
  let at = skipOpeningFence(text, tag.end);
  for (let next = tagAt(text, at); next !== undefined; next = tagAt(text, at)) {
    tag = next;
    at = skipOpeningFence(text, tag.end);
  }
  if (at === text.length) return { spans: [], end: at, truncated: true };
  if (tag.kind.holds === 'arguments') {
    return parseNamedCall(text, { first, tag, at, name: toolNameIn(text, tag), nameAt: tag.start });
  }
  if (tag.kind.holds === 'calls or a name') {
    compactCall.lastIndex = at;
    const name = compactCall.exec(text)?.[1];
    if (name !== undefined) return parseNamedCall(text, { first, tag, at: compactCall.lastIndex, name, nameAt: at });
    truncatedCompactCall.lastIndex = at;
    if (truncatedCompactCall.test(text)) return { spans: [], end: at, truncated: true };
  }
  return parseCalls(text, first, tag, at, keys);
}

function parseCalls(text: string, first: Tag, tag: Tag, at: number, keys: CallKeys): TaggedBlock {
  callsStart.lastIndex = at;
  if (!callsStart.test(text)) return { spans: [], end: tag.end, truncated: false };
  const { objects, list, end, error } = parseObjects(text, at, true);
  const spans = objects.flatMap((object, index) => {
    const said = extractCalls(object.value, keys, { tagged: true, lenient: true });
    return said.length === 0
      ? []
      : [{ ...createCallSpan(text, object, said), ...(index === 0 && { start: first.start }) }];
  });
  if (error !== undefined) return recoverFrom(text, tag, error, spans);
  const truncated = list === 'open' && objects.length === 0 && skipSeparators(text, at + 1) === text.length;
  return { spans, end, truncated };
}

interface NamedCall {
  readonly first: Tag;
  readonly tag: Tag;
  /** Where the arguments stand. */
  readonly at: number;
  readonly name: string;
  readonly nameAt: number;
}

function parseNamedCall(text: string, { first, tag, at, name, nameAt }: NamedCall): TaggedBlock {
  const spans = (end: number, repaired: boolean, said: ReturnType<typeof parseArguments>): readonly CallSpan[] =>
    said === undefined
      ? []
      : [{ ...createCallSpan(text, { start: nameAt, end, repaired }, [{ name, ...said }]), start: first.start }];
  if (at === text.length) return { spans: [], end: at, truncated: true };
  closingTag.lastIndex = at;
  if (closingTag.test(text))
    return { spans: spans(at, false, parseArguments(undefined, false)), end: at, truncated: false };
  if (text[at] !== '{') return { spans: [], end: tag.end, truncated: false };
  const object = parseObjectAt(text, at, true);
  if ('truncatedIn' in object) return recoverFrom(text, tag, object, []);
  return {
    spans: spans(object.end, object.repaired, parseArguments(object.value, true)),
    end: object.end,
    truncated: false,
  };
}

/**
 * Where to go on after what could not be read. A tag in a string that was read is only text, unless it is one of the
 * block's own kind: a string that runs over those has lost its closing quote.
 */
function recoverFrom(
  text: string,
  { kind }: Tag,
  { start, at, truncatedIn }: ObjectListError,
  spans: readonly CallSpan[],
): TaggedBlock {
  if (truncatedIn === 'strict') return { spans, end: at, truncated: true };
  if (truncatedIn === 'lenient') {
    const end = kind.closes === undefined ? -1 : text.indexOf(kind.closes, start);
    return { spans, end, truncated: end < 0 };
  }
  const read = text.slice(start, at);
  const opener = textUpTo(read, kind.opens);
  const closer = kind.closes === undefined ? opener : textUpTo(read, kind.closes);
  return { spans, end: start + Math.min(opener, closer), truncated: false };
}

const textUpTo = (read: string, mark: string): number => (read.includes(mark) ? read.indexOf(mark) : read.length);
