import { whyNoCall } from './callLikeJson.ts';
import type { LooseJson } from './looseJson.ts';
import { isMentioned, type MarkItem } from './markFinder.ts';
import { type MarkupContext, type MarkupItem, scanMarkup } from './markupScanner.ts';
import { startsWithName, type ToolNameFinder } from './toolNames.ts';

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

/** What a mark opens: its end, why it is no call, and the index of the first item after it. */
interface OpenedBlock {
  readonly end: number;
  readonly reason: string;
  readonly next: number;
}

/**
 * What the mark at an index of the items opens:
 *
 * | after the mark                                      | it ends                                                 |
 * | --------------------------------------------------- | ------------------------------------------------------- |
 * | anything with a closing mark                        | after the last closing mark before the next opening one |
 * | JSON, perhaps after a name                          | after the JSON                                          |
 * | other marks, or the beginning of a call             | at the next opening mark, or at the end of the text     |
 * | prose, or nothing                                   | at once                                                 |
 */
function openedBlock(text: string, items: readonly MarkupItem[], index: number, context: MarkupContext): OpenedBlock {
  const { finder, toolNames } = context;
  const [before, opening] = [items[index - 1], items[index] as MarkItem];
  const mark = text.slice(opening.start, opening.end);
  let { end } = opening;
  let next = index + 1;
  let hasInner = opening.kind === 'inner';
  let json: LooseJson | undefined;
  let isClosed = false;
  for (let item = items[next]; item !== undefined && item.kind !== 'opens'; item = items[++next]) {
    if (isClosed && item.kind !== 'closes' && !(item.kind === 'inner' && isLink(text.slice(end, item.start)))) break;
    if (item.kind === 'json') {
      const isPart = hasInner || isHead(text.slice(end, item.start)) || items[next + 1]?.kind === 'closes';
      if (!isPart) break;
      json = item;
    } else {
      hasInner ||= item.kind === 'inner';
      isClosed = item.kind === 'closes';
    }
    end = item.end;
  }
  const nextStart = items[next]?.start ?? text.length;
  const rest = text.slice(end, nextStart);
  const isInJson = before?.kind === 'json' && before.end === opening.start && before.cutOffBy === 'a mark';
  const isOpenEnded = json === undefined ? hasInner || finder.isNeverClosed(mark) : json.cutOffBy !== undefined;
  if (!isClosed) {
    if (
      isOpenEnded ||
      (json === undefined &&
        (startsBody(rest, toolNames) || (nextStart === text.length && isCutOffName(rest, toolNames))))
    )
      end = nextStart;
    else if (isInJson && json === undefined) end += structureEnd(rest);
  }
  const why = json && whyJson(text, json, context);
  if (why !== undefined) return { end, reason: `the JSON after ${mark} ${why}`, next };
  const isCutOff = !isClosed && nextStart === text.length && text.slice(end).trim() === '';
  return {
    end,
    reason: isCutOff ? `the text ends inside the call that ${mark} opens` : `no call follows ${mark}`,
    next,
  };
}

function whyJson(text: string, json: LooseJson, context: MarkupContext): string {
  const why = whyNoCall(text, json, context);
  if (why !== undefined) return why;
  if (json.cutOffBy === 'the end of the text') return 'is cut off by the end of the text';
  return json.value === undefined ? 'is malformed' : 'is no call';
}

/** Whether a text between two parts of a call is only punctuation, with code fences. */
export const isLink = (text: string): boolean => /^[\s,;:[\](){}"'`]*(?:```\w+[\s,;:[\](){}"'`]*)*$/.test(text);

/** Whether a text before JSON is at most the name of a call, as some formats write it. */
const isHead = (text: string): boolean => /^\W*(?:json\s\W*)?(?:\w[^\s"'{}()]{0,63}(?!\w)\W*)?$/.test(text);

const bodyStart = /^\s*[^\s{}()[\]"'<>=]{1,64}[{([="<]/;

/** Whether a text after a mark can only be a call: a name, or a word and a bracket. */
const startsBody = (text: string, toolNames: ReadonlySet<string>): boolean =>
  text.trim() === '' || bodyStart.test(text) || startsWithName(text, toolNames);

/** Whether a text is one word, in which the text ends: the beginning of a name, where no tools are known. */
const isCutOffName = (text: string, toolNames: ReadonlySet<string>): boolean =>
  toolNames.size === 0 && /^\s*[\w.-]{1,64}$/.test(text);

const structure = /["'}\]]\s*[,:}\]]|[{}[\]]/g;

/** Index after the last character of a text that JSON is made of; 0: it has none. */
const structureEnd = (text: string): number => {
  const last = [...text.matchAll(structure)].at(-1);
  return last ? last.index + last[0].length : 0;
};
