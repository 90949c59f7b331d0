import { matchesOutsideCode, openingFenceBefore } from '../detect/markdownCode.ts';
import type { MarkFinder } from './markFinder.ts';
import type { ToolNameFinder } from './toolNames.ts';
import { type TextRange, untilSame } from '../marks.ts';
import { type FoundBlocks, isLink, type MalformedBlock } from './malformedBlocks.ts';

/**
 * Blocks with what belongs to them at their edges: punctuation of JSON, broken marks, and a code fence around the block.
 * Blocks with nothing else between them are one. Broken marks that stand alone are blocks, too.
 */
export function withEdges(
  text: string,
  { blocks, data }: FoundBlocks,
  finder: MarkFinder,
  names: ToolNameFinder,
): readonly MalformedBlock[] {
  const widened: MalformedBlock[] = [];
  const textEnd = text.trimEnd().length;
  const all = withLoneMarks(text, { blocks: joinAdjacent(text, blocks), data }, finder);
  for (const [index, block] of all.entries()) {
    const from = widened.at(-1)?.end ?? 0;
    const until = all[index + 1]?.start ?? text.length;
    const start = untilSame(block.start, (at) =>
      Math.max(from, names.startBefore(text, finder.startBefore(text, openersBefore(text, at, from)))),
    );
    const end = untilSame(block.end, (at) => {
      const after = text.slice(at, Math.min(until, at + maxEdge));
      return Math.min(until, finder.endAfter(text, at + (closers.exec(after)?.[0].length ?? restOfJson(after))));
    });
    const fenceFrom = Math.max(from, start - 40);
    const fence = openingFenceBefore(text.slice(fenceFrom, start), 40);
    const closing = closeFence.exec(text.slice(end, end + maxEdge))?.[0].length ?? 0;
    const isFenced = fence !== undefined && (closing > 0 || end >= textEnd);
    widened.push({ ...block, start: isFenced ? fenceFrom + fence : start, end: isFenced ? end + closing : end });
  }
  return joinAdjacent(text, widened);
}

const closeFence = /^\s*`{3,}(?!\w)/;
const closers = /^(?:\s*[\]}),;"'])+/;
const maxEdge = 200;

/** Start of the opening brackets and the separators before an index. */
function openersBefore(text: string, index: number, from: number): number {
  let start = index;
  for (let next = index; next > from; next--) {
    const character = text[next - 1] ?? '';
    if ('[{(,;"\''.includes(character)) start = next - 1;
    else if (!/\s/.test(character)) break;
  }
  return start;
}

/** Length of the end of JSON whose beginning is in the block before: to a bracket that nothing opens, on the same line. */
function restOfJson(text: string): number {
  const bracket = text.slice(0, 100).search(/[\n{}[\]]/);
  if (bracket < 1 || !'}]'.includes(text[bracket] ?? ' ')) return 0;
  if (!/["'\w]\s*$/.test(text.slice(Math.max(0, bracket - 8), bracket))) return 0;
  return bracket + (/^[}\]\s]*[}\]]/.exec(text.slice(bracket))?.[0].length ?? 0);
}

/** Whether a text between two blocks is a part of the call: punctuation, the values before a closing mark, or JSON. */
function isInside(gap: string, next: string): boolean {
  if (isLink(gap)) return true;
  if (gap.length > maxEdge || /[.!?]\s/.test(gap)) return false;
  return next === '</' || /["'][:,]|[{}<>|=]/.test(gap);
}

function joinAdjacent(text: string, blocks: readonly MalformedBlock[]): readonly MalformedBlock[] {
  const joined: MalformedBlock[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last && isInside(text.slice(last.end, block.start), text.slice(block.start, block.start + 2)))
      joined[joined.length - 1] = join(last, block);
    else joined.push(block);
  }
  return joined;
}

// Of two blocks, the one that holds more says what is wrong.
const weights = { rest: 0, mark: 1, call: 2 } as const;

const join = (first: MalformedBlock, second: MalformedBlock): MalformedBlock => ({
  ...(weights[first.holds] < weights[second.holds] ? second : first),
  start: first.start,
  end: second.end,
});

/** Brackets that words have in marks, whole lines that start like a mark, and Markdown code. */
const lonePattern =
  /`+|[<[]?[/|]{0,2}(?<![\w-])[A-Za-z_]{4,24}[|]?[>\]]|[<[][/|]{0,2}[A-Za-z_]{4,24}|(?<=^|\n)[ \t]*<[/|]{0,2}[A-Za-z_]{0,24}[|]?[ \t]*(?=\n|$)/g;

function withLoneMarks(text: string, { blocks, data }: FoundBlocks, finder: MarkFinder): readonly MalformedBlock[] {
  const lone: MalformedBlock[] = [];
  const known = [...blocks, ...data].sort(byStart);
  let [next, last] = [0, 0];
  const skipKnown = (index: number): number => {
    for (let range = known[next]; range && range.start <= index; range = known[++next])
      last = Math.max(last, range.end);
    return last;
  };
  for (const { index: start, 0: tag } of matchesOutsideCode(lonePattern, text, 0, skipKnown)) {
    if (finder.isLine(tag) || (finder.isAlone(tag) && !isNamed(text, start + tag.length, tag))) {
      const following = known[next];
      // Data that starts within the tag is a part of it.
      const end = Math.min(start + tag.length, following && 'holds' in following ? following.start : text.length);
      lone.push({ start, end, reason: `${tag.trim()} is no mark of a call`, holds: 'rest' });
      last = end;
    }
  }
  return [...blocks, ...lone].sort(byStart);
}

const byStart = (a: TextRange, b: TextRange): number => a.start - b.start;

/** Whether a sentence goes on after what looks like the broken mark that opens a call. */
const isNamed = (text: string, end: number, tag: string): boolean =>
  !tag.includes('/') && /^[ \t]+[^\s{[<"']|^[.,;!?]/.test(text.slice(end, end + maxEdge));
