import { whyNoCall } from './callLikeJson.ts';
import type { LooseJson } from './looseJson.ts';
import type { MarkItem } from './markFinder.ts';
import { isMentioned } from './mentionedMark.ts';
import { scanMarkup, type MarkupItem } from './markupScanner.ts';
import { isLink, openedBlock } from './openedBlock.ts';
import type { ToolNameFinder } from './toolNames.ts';
import type { MarkupContext } from './markupContext.ts';

/** A range of a text that is markup of a call, and why it gave none; `end` is exclusive. */
export interface MalformedBlock {
  readonly start: number;
  readonly end: number;
  readonly reason: string;
  /** What it holds: the call itself, only its mark, or what may remain around a call that was read. */
  readonly holds: 'call' | 'mark' | 'rest';
}

/** The blocks of markup in a text, and the JSON that is data: a mark in it is a part of a string. */
export interface FoundBlocks {
  readonly blocks: readonly MalformedBlock[];
  readonly data: readonly LooseJson[];
}

/** Finds the blocks of markup in a text whose calls are taken out, in order. Takes time linear in the text. */
export function malformedBlocks(text: string, context: MarkupContext): FoundBlocks {
  const items = scanMarkup(text, context.finder);
  const blocks: MalformedBlock[] = [];
  const data: LooseJson[] = [];
  for (let index = 0; index < items.length;) {
    const item = items[index];
    const { block, next } = blockAt(text, items, index, context);
    const found = block ?? restOfBlock(text, item, blocks.at(-1));
    if (found) blocks.push(found);
    else if (item?.kind === 'json') data.push(item);
    index = next;
  }
  const cutOff = context.finder.cutOffFrom(text);
  if (cutOff !== undefined && cutOff >= (blocks.at(-1)?.end ?? 0)) blocks.push(cutOffMark(text, cutOff));
  return { blocks: context.isBareSearched ? withNamedCalls(text, blocks, context.names) : blocks, data };
}

/** The blocks, and the calls between them that begin with the name of a tool. */
function withNamedCalls(
  text: string,
  blocks: readonly MalformedBlock[],
  names: ToolNameFinder,
): readonly MalformedBlock[] {
  const all: MalformedBlock[] = [];
  let from = 0;
  for (const block of [...blocks, undefined]) {
    for (const { start, end } of names.calls(text.slice(from, block?.start), block !== undefined))
      all.push({ start: from + start, end: from + end, reason: 'a call has no mark before it', holds: 'call' });
    if (block) all.push(block);
    from = block?.end ?? from;
  }
  return all;
}

/** Malformed JSON directly after a block: a part of the same call. */
function restOfBlock(
  text: string,
  item: MarkupItem | undefined,
  last: MalformedBlock | undefined,
): MalformedBlock | undefined {
  if (item?.kind !== 'json' || item.value !== undefined || !last || !isLink(text.slice(last.end, item.start)))
    return undefined;
  return { start: item.start, end: item.end, reason: 'the JSON of a call is malformed', holds: 'call' };
}

const cutOffMark = (text: string, start: number): MalformedBlock => ({
  start,
  end: text.length,
  reason: 'the text ends inside a mark of a call',
  holds: text[start + 1] === '/' || text[start + 2] === '/' ? 'rest' : 'mark',
});

/** A block, if there is one, and the index of the item after it. */
interface FoundBlock {
  readonly block: MalformedBlock | undefined;
  readonly next: number;
}

function blockAt(text: string, items: readonly MarkupItem[], index: number, context: MarkupContext): FoundBlock {
  const item = items[index];
  if (item === undefined) return { block: undefined, next: index + 1 };
  const { start, end, kind } = item;
  if (kind === 'json') {
    const closing = closerAfter(text, items, index);
    const why = context.isBareSearched || closing ? whyNoCall(text, item, context) : undefined;
    if (closing) {
      const reason = `the JSON before ${textOf(text, closing)} ${why ?? 'is no call'}`;
      return { block: { start, end: closing.end, reason, holds: 'call' }, next: index + 2 };
    }
    if (why === undefined) return { block: undefined, next: index + 1 };
    return { block: { start, end, reason: `the JSON of a call ${why}`, holds: 'call' }, next: index + 1 };
  }
  const mark = textOf(text, item);
  if (kind === 'closes')
    return { block: { start, end, reason: `${mark} closes no call`, holds: 'rest' }, next: index + 1 };
  if (isMentioned(text.slice(Math.max(0, start - 40), start), text.slice(end, end + 40)))
    return { block: { start, end, reason: `no call follows ${mark}`, holds: 'mark' }, next: index + 1 };
  const { next, ...opened } = openedBlock(text, items, index, context);
  return { block: { start, ...opened, holds: opened.end > end ? 'call' : 'mark' }, next };
}

/** The closing mark directly after an item. */
function closerAfter(text: string, items: readonly MarkupItem[], index: number): MarkItem | undefined {
  const [item, next] = [items[index], items[index + 1]];
  return item && next?.kind === 'closes' && isLink(text.slice(item.end, next.start)) ? next : undefined;
}

const textOf = (text: string, { start, end }: MarkItem): string => text.slice(start, end);
