import { whyNoCall } from './callLikeJson.ts';
import type { MarkFinder, MarkItem } from './markFinder.ts';
import { scanMarkup, type MarkupItem } from './markupScanner.ts';

/** A range of a text that is markup of a call, and why it gave none; `end` is exclusive. */
export interface UnreadBlock {
  readonly start: number;
  readonly end: number;
  readonly reason: string;
}

/** What the search for markup knows. */
export interface UnreadContext {
  readonly finder: MarkFinder;
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
}

/** The blocks of markup in a text whose calls are taken out, in order. Takes time linear in the text. */
export function unreadBlocks(text: string, context: UnreadContext): readonly UnreadBlock[] {
  const items = scanMarkup(text, context.finder);
  const blocks: UnreadBlock[] = [];
  for (let index = 0; index < items.length;) {
    const [block, next] = blockAt(text, items, index, context);
    if (block) blocks.push(block);
    index = next;
  }
  const cutOff = context.finder.cutOffFrom(text);
  if (cutOff !== undefined && cutOff >= (blocks.at(-1)?.end ?? 0))
    blocks.push({ start: cutOff, end: text.length, reason: 'the text ends inside a mark of a call' });
  return blocks;
}

type BlockOrNot = readonly [block: UnreadBlock | undefined, next: number];

function blockAt(text: string, items: readonly MarkupItem[], index: number, context: UnreadContext): BlockOrNot {
  const item = items[index];
  if (item === undefined) return [undefined, index + 1];
  if (item.kind === 'json') {
    const next = items[index + 1];
    const isClosed = next?.kind === 'closes' && isLink(text.slice(item.end, next.start));
    const why = context.isBareSearched || isClosed ? whyNoCall(text, item, context.toolNames) : undefined;
    if (isClosed && next)
      return [
        { start: item.start, end: next.end, reason: `the JSON before ${markAt(text, next)} ${why ?? 'is no call'}` },
        index + 2,
      ];
    return [
      why === undefined ? undefined : { start: item.start, end: item.end, reason: `the JSON of a call ${why}` },
      index + 1,
    ];
  }
  const { start, end, kind } = item;
  const mark = markAt(text, item);
  if (kind === 'closes') return [{ start, end, reason: `${mark} closes no call` }, index + 1];
  if (isMentioned(text, item)) return [{ start, end, reason: `no call follows ${mark}` }, index + 1];
  return openedBlock(text, items, index, context);
}

/** The block that a mark opens: to its closing mark, else to the end of what can only be a call. */
function openedBlock(text: string, items: readonly MarkupItem[], index: number, context: UnreadContext): BlockOrNot {
  const opening = items[index] as MarkItem;
  const mark = markAt(text, opening);
  const { toolNames, finder } = context;
  let next = index + 1;
  let end = opening.end;
  let why: string | undefined;
  let isCutOff = false;
  let hasCloser = false;
  for (let item = items[next]; item !== undefined && item.kind !== 'opens'; item = items[++next]) {
    const gap = text.slice(end, item.start);
    if (item.kind === 'json') {
      if (!isLink(gap) && !isCallHead(gap) && !hasCloserAhead(items, next)) break;
      why ??=
        whyNoCall(text, item, toolNames) ??
        (item.isCutOff
          ? 'is cut off by the end of the text'
          : item.value === undefined
            ? 'is malformed'
            : 'is no call');
      isCutOff = item.isCutOff;
    } else if (item.kind === 'closes') hasCloser = true;
    end = item.end;
    if (item.kind === 'closes' && items[next + 1]?.kind !== 'closes' && items[next + 1]?.kind !== 'inner') {
      next++;
      break;
    }
  }
  const rest = text.slice(end, items[next]?.start ?? text.length);
  if (!hasCloser && why === undefined) {
    const isStructured = next > index + 1 || finder.isNeverClosed(mark);
    if (isStructured || startsName(rest, toolNames)) end = items[next]?.start ?? text.length;
    isCutOff = (items[next] === undefined && end === text.length) || rest.trim() === '';
  }
  const reason =
    why !== undefined
      ? `the JSON after ${mark} ${why}`
      : isCutOff && !hasCloser
        ? `the text ends inside the call that ${mark} opens`
        : `no call follows ${mark}`;
  return [{ start: opening.start, end, reason }, next];
}

const hasCloserAhead = (items: readonly MarkupItem[], index: number): boolean => items[index + 1]?.kind === 'closes';

/** Whether a text between two parts of a call belongs to them. */
const isLink = (text: string): boolean => /^(?:[\s,;:[\](){}"'`]|```\w*)*$/.test(text);

/** Whether a text before JSON is the name of a call, as some formats write it. */
const isCallHead = (text: string): boolean => /^[\s`]*(?:json\s)?(?:[\w.-]{1,64}[\s:(=]{0,8})?$/.test(text);

function startsName(rest: string, toolNames: ReadonlySet<string>): boolean {
  const word = /^\s*([\w.-]{1,64})/.exec(rest)?.[1];
  if (word === undefined) return rest.trim() === '';
  return toolNames.has(word) || (rest.trim() === word && [...toolNames].some((name) => name.startsWith(word)));
}

/** Whether a sentence has a mark as a word of its own: prose stands before it, and after it on the line. */
function isMentioned(text: string, { start, end }: MarkItem): boolean {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const before = text.slice(Math.max(lineStart, start - 40), start);
  return /[\p{L}\p{N},.;:!?)]\s*$/u.test(before) && /^(?:[.,;!?)]|[ \t]+[\p{L}(])/u.test(text.slice(end, end + 8));
}

const markAt = (text: string, { start, end }: MarkItem): string => text.slice(start, end);
