import { pastOpeningFence } from './codeFences.ts';
import { foundIn, type Findings, type Found } from './callSpan.ts';
import type { Past } from '../reasoning/reasoningSpans.ts';
import { pastSeparators, readObject, readRun, type Fault } from './objectList.ts';
import { argumentsOf, callsIn, type CallKeys } from './callShape.ts';
import { closingTag, nextTag, tagAt, toolOf, type Tag } from './tags.ts';

/** Finds the calls that stand in tags, those of every format. */
export function taggedCalls(text: string, keys: CallKeys, past: Past): Findings {
  const blocks: (readonly Found[])[] = [];
  let tag = nextTag(text, 0, past);
  while (tag !== undefined) {
    const block = readBlock(text, tag, keys);
    if (block.found.length > 0) blocks.push(block.found);
    if (block.cut) return { found: blocks.flat(), cutAt: tag.start };
    tag = nextTag(text, block.end, past);
  }
  return { found: blocks.flat(), cutAt: undefined };
}

/** What a tag opens. */
interface Block {
  readonly found: readonly Found[];
  /** From where the next tag is looked for. */
  readonly end: number;
  readonly cut: boolean;
}

const callsStart = /(?:\[\s*)?\{\s*(?:["'}]|$)|\[\s*$/y;
const compact = /([\w.-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\]\s*|(?=\{))/y;
const cutCompact = /[\w.-]+(?:\[CALL_ID\][\w-]*)?(?:\[[A-Z_]{0,8})?$/y;

function readBlock(text: string, first: Tag, keys: CallKeys): Block {
  let tag = first;
  let at = pastOpeningFence(text, tag.end);
  for (let next = tagAt(text, at); next !== undefined; next = tagAt(text, at)) {
    tag = next;
    at = pastOpeningFence(text, tag.end);
  }
  if (at === text.length) return { found: [], end: at, cut: true };
  if (tag.kind.holds === 'arguments') {
    return readArguments(text, { first, tag, at, name: toolOf(text, tag), nameAt: tag.start });
  }
  if (tag.kind.holds === 'calls or a name') {
    compact.lastIndex = at;
    const name = compact.exec(text)?.[1];
    if (name !== undefined) return readArguments(text, { first, tag, at: compact.lastIndex, name, nameAt: at });
    cutCompact.lastIndex = at;
    if (cutCompact.test(text)) return { found: [], end: at, cut: true };
  }
  return readCalls(text, first, tag, at, keys);
}

function readCalls(text: string, first: Tag, tag: Tag, at: number, keys: CallKeys): Block {
  callsStart.lastIndex = at;
  if (!callsStart.test(text)) return { found: [], end: tag.end, cut: false };
  const { objects, list, end, fault } = readRun(text, at, true);
  const found = objects.flatMap((object, index) => {
    const said = callsIn(object.value, keys, { tagged: true, lenient: true });
    return said.length === 0 ? [] : [{ ...foundIn(text, object, said), ...(index === 0 && { start: first.start }) }];
  });
  if (fault !== undefined) return afterFault(text, tag, fault, found);
  const cut = list === 'open' && objects.length === 0 && pastSeparators(text, at + 1) === text.length;
  return { found, end, cut };
}

interface Named {
  readonly first: Tag;
  readonly tag: Tag;
  /** Where the arguments stand. */
  readonly at: number;
  readonly name: string;
  readonly nameAt: number;
}

function readArguments(text: string, { first, tag, at, name, nameAt }: Named): Block {
  const found = (end: number, repaired: boolean, said: ReturnType<typeof argumentsOf>): readonly Found[] =>
    said === undefined
      ? []
      : [{ ...foundIn(text, { start: nameAt, end, repaired }, [{ name, ...said }]), start: first.start }];
  if (at === text.length) return { found: [], end: at, cut: true };
  closingTag.lastIndex = at;
  if (closingTag.test(text)) return { found: found(at, false, argumentsOf(undefined, false)), end: at, cut: false };
  if (text[at] !== '{') return { found: [], end: tag.end, cut: false };
  const object = readObject(text, at, true);
  if ('cutIn' in object) return afterFault(text, tag, object, []);
  return { found: found(object.end, object.repaired, argumentsOf(object.value, true)), end: object.end, cut: false };
}

/**
 * Where to go on after what could not be read. A tag in a string that was read is only text, unless it is one of the
 * block's own kind: a string that runs over those has lost its closing quote.
 */
function afterFault(text: string, { kind }: Tag, { start, at, cutIn }: Fault, found: readonly Found[]): Block {
  if (cutIn === 'strict') return { found, end: at, cut: true };
  if (cutIn === 'lenient') {
    const end = kind.closes === undefined ? -1 : text.indexOf(kind.closes, start);
    return { found, end, cut: end < 0 };
  }
  const read = text.slice(start, at);
  const opener = before(read, kind.opens);
  const closer = kind.closes === undefined ? opener : before(read, kind.closes);
  return { found, end: start + Math.min(opener, closer), cut: false };
}

const before = (read: string, mark: string): number => (read.includes(mark) ? read.indexOf(mark) : read.length);
