import type { UnreadBlock } from './unreadBlocks.ts';
import type { UnreadCall } from './unreadCall.ts';

/** A text without markup of calls, and that markup. */
export interface SplitMarkup {
  readonly answer: string;
  readonly unread: readonly UnreadCall[];
}

/** Takes blocks of markup out of a text. Blocks with only punctuation between them are one. */
export function withoutMarkup(text: string, blocks: readonly UnreadBlock[]): SplitMarkup {
  const pieces: string[] = [];
  const unread: UnreadCall[] = [];
  let from = 0;
  for (const { start, end, reason } of joinBlocks(text, blocks)) {
    pieces.push(text.slice(from, start));
    unread.push({ text: text.slice(start, end).trim(), reason });
    from = end;
  }
  pieces.push(text.slice(from));
  return { answer: unread.length === 0 ? text : joinPieces(pieces), unread };
}

function joinBlocks(text: string, blocks: readonly UnreadBlock[]): readonly UnreadBlock[] {
  const joined: UnreadBlock[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last && !/[^\s,;:[\](){}"'`]/.test(text.slice(last.end, block.start)))
      joined[joined.length - 1] = { ...last, end: block.end };
    else joined.push(block);
  }
  return joined.map(({ start, end, reason }, index) => {
    const before = text.slice(joined[index - 1]?.end ?? 0, start);
    const after = text.slice(end, joined[index + 1]?.start ?? text.length);
    const fence = /```[\w+-]{0,16}\s*$/.exec(before)?.[0].length ?? 0;
    const left = /(?:[[{(,;"']\s*)+$/.exec(before)?.[0].length ?? 0;
    const right = /^(?:\s*[\]}),;"'])+/.exec(after)?.[0].length ?? 0;
    const closingFence = fence > 0 ? (/^\s*```/.exec(after.slice(right))?.[0].length ?? 0) : 0;
    return { start: start - (fence || left), end: end + right + closingFence, reason };
  });
}

/** Joins the pieces around markup: on one line where all of it stood on one, else as lines. */
function joinPieces(pieces: readonly string[]): string {
  let joined = '';
  for (const piece of pieces) {
    const trimmed = piece.trim();
    if (trimmed === '') continue;
    const isSameLine = joined !== '' && /^[ \t]*\S/.test(piece);
    joined += joined === '' ? trimmed : `${isSameLine ? ' ' : '\n'}${trimmed}`;
  }
  return joined;
}
