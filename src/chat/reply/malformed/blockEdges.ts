import { openingFenceBefore, skipInlineCode } from '../detect/markdownCode.ts';
import type { BrokenMarks } from './markFinder.ts';
import type { ToolNameFinder } from './toolNames.ts';
import { type FoundBlocks, isLink, type MalformedBlock } from './malformedBlocks.ts';

/**
 * Blocks with what belongs to them at their edges: punctuation of JSON, broken marks, and a code fence around the block.
 * Blocks with nothing else between them are one. Broken marks that stand alone are blocks, too.
 */
export function withEdges(
  text: string,
  { blocks, data }: FoundBlocks,
  finders: EdgeFinders,
): readonly MalformedBlock[] {
  const widened: MalformedBlock[] = [];
  const textEnd = text.trimEnd().length;
  const all = withLoneMarks(text, { blocks: joinAdjacent(text, blocks), data }, finders.broken);
  for (const [index, block] of all.entries()) {
    const from = widened.at(-1)?.end ?? 0;
    const until = all[index + 1]?.start ?? text.length;
    widened.push(widen(text, block, { from, until, textEnd, ...finders }));
  }
  return joinAdjacent(text, widened);
}

/** What may stand at the edges of a block. */
interface EdgeFinders {
  readonly broken: BrokenMarks;
  readonly names: ToolNameFinder;
}

interface Surroundings extends EdgeFinders {
  /** The end of the block before. */
  readonly from: number;
  /** The start of the block after. */
  readonly until: number;
  /** The end of the text without its last white space. */
  readonly textEnd: number;
}

const closeFence = /^\s*`{3,}(?!\w)/;
const closers = /^(?:\s*[\]}),;"'])+/;
const maxEdge = 200;

function widen(
  text: string,
  block: MalformedBlock,
  { from, until, textEnd, broken, names }: Surroundings,
): MalformedBlock {
  let { start, end } = block;
  for (let last = -1; last !== start;) {
    last = start;
    start = Math.max(from, names.startBefore(text, broken.startBefore(text, openersBefore(text, start, from))));
  }
  for (let last = -1; last !== end;) {
    last = end;
    const after = text.slice(end, Math.min(until, end + maxEdge));
    end += closers.exec(after)?.[0].length ?? restOfJson(after);
    end = Math.min(until, broken.endAfter(text, end));
  }
  const fence = openingFenceBefore(text.slice(Math.max(from, start - 40), start), 40);
  if (fence === undefined) return { ...block, start, end };
  const closing = closeFence.exec(text.slice(end, end + maxEdge))?.[0].length ?? 0;
  const fenceStart = Math.max(from, start - 40) + fence;
  return closing > 0 || end >= textEnd ? { ...block, start: fenceStart, end: end + closing } : { ...block, start, end };
}

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

function withLoneMarks(text: string, { blocks, data }: FoundBlocks, broken: BrokenMarks): readonly MalformedBlock[] {
  const all: MalformedBlock[] = [];
  let [next, nextData] = [0, 0];
  lonePattern.lastIndex = 0;
  for (let match = lonePattern.exec(text); match; match = lonePattern.exec(text)) {
    const [tag] = match;
    const start = match.index;
    for (let block = blocks[next]; block && block.start <= start; block = blocks[++next]) all.push(block);
    while ((data[nextData]?.end ?? Infinity) <= start) nextData++;
    const dataEnd = (data[nextData]?.start ?? Infinity) <= start ? (data[nextData]?.end ?? 0) : 0;
    const last = Math.max(dataEnd, all.at(-1)?.end ?? 0);
    if (start < last) lonePattern.lastIndex = last;
    else if (tag.startsWith('`')) lonePattern.lastIndex = skipInlineCode(text, start);
    else if (broken.isLine(tag) || (broken.isAlone(tag) && !isNamed(text, start + tag.length, tag))) {
      const end = Math.min(start + tag.length, blocks[next]?.start ?? text.length);
      all.push({ start, end, reason: `${tag.trim()} is no mark of a call`, holds: 'rest' });
    }
  }
  return [...all, ...blocks.slice(next)];
}

/** Whether a sentence goes on after what looks like the broken mark that opens a call. */
const isNamed = (text: string, end: number, tag: string): boolean =>
  !tag.includes('/') && /^[ \t]+[^\s{[<"']|^[.,;!?]/.test(text.slice(end, end + maxEdge));
