/** A range of a text; `end` is exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A text without blocks of it: on one line where both sides of a block stood on one, else as lines. */
export function withoutBlocks(text: string, blocks: readonly TextRange[]): string {
  if (blocks.length === 0) return text;
  let joined = '';
  let from = 0;
  for (const { start, end } of [...blocks, { start: text.length, end: text.length }]) {
    const piece = text.slice(from, start);
    const trimmed = piece.trim();
    if (trimmed !== '') {
      const isSameLine = /^[ \t]*\S/.test(piece);
      joined += joined === '' ? trimmed : `${isSameLine ? ' ' : '\n'}${trimmed}`;
    }
    // White space at the end of a block is a part of the text.
    from = start + text.slice(start, end).trimEnd().length;
  }
  return joined;
}
