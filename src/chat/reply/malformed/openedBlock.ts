import { whyNoCall } from './callLikeJson.ts';
import type { LooseJson } from './looseJson.ts';
import type { MarkItem } from './markFinder.ts';
import type { MarkupItem } from './markupScanner.ts';
import { startsWithName } from './toolNames.ts';
import type { MarkupContext } from './markupContext.ts';

/** What a mark opens: its end, why it is no call, and the index of the first item after it. */
export interface OpenedBlock {
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
export function openedBlock(
  text: string,
  items: readonly MarkupItem[],
  index: number,
  context: MarkupContext,
): OpenedBlock {
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

/** Whether a text between two parts of a call is only punctuation. */
export const isLink = (text: string): boolean => /^(?:[\s,;:[\](){}"'`]|```\w*)*$/.test(text);

/** Whether a text before JSON is at most the name of a call, as some formats write it. */
const isHead = (text: string): boolean => /^\W*(?:json\s)?\W*(?:[^\s"'{}()]{1,64}\W*)?$/.test(text);

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
