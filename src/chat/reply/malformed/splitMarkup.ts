import type { CallMarkup, MalformedCall } from '../../tool.ts';
import type { TextRange } from '../marks.ts';
import { malformedBlocks, type MarkupOptions } from './malformedBlocks.ts';
import { MarkFinder } from '../markFinder.ts';

/** A text without markup of calls, and the markup that gave none. */
export interface SplitMarkup {
  readonly answer: string;
  readonly unread: readonly MalformedCall[];
}

/** What is known of a reply whose calls are taken out. */
export interface SplitOptions extends MarkupOptions {
  /** Whether the reply has calls, so that a closing mark may be what remains of one. */
  readonly hasCalls: boolean;
}

/** Takes the markup of calls out of a text whose calls are taken out. Never throws; takes time linear in the text. */
export function splitMarkup(text: string, finder: MarkFinder, options: SplitOptions): SplitMarkup {
  const blocks = malformedBlocks(text, finder, options);
  const unread = blocks
    .filter(({ isRest }) => !(isRest && options.hasCalls))
    .map(({ start, end, reason }) => ({ text: text.slice(start, end).trim(), reason }));
  return { answer: withoutBlocks(text, blocks), unread };
}

const finders = new WeakMap<CallMarkup, MarkFinder>();

/** The finder of the marks of calls; the same object for the same marks. */
export function markFinder(markup: CallMarkup): MarkFinder {
  const known = finders.get(markup) ?? new MarkFinder(markup);
  finders.set(markup, known);
  return known;
}

/** A text without blocks of it: on one line where both sides of a block stood on one, else as lines. */
export function withoutBlocks(text: string, blocks: readonly TextRange[]): string {
  if (blocks.length === 0) return text;
  let joined = '';
  let from = 0;
  let isLine = false;
  for (const { start, end } of [...blocks, { start: text.length, end: text.length }]) {
    const piece = text.slice(from, start);
    const trimmed = piece.trim();
    isLine ||= piece.slice(0, piece.length - piece.trimStart().length).includes('\n');
    if (trimmed !== '') {
      joined += (joined === '' ? '' : isLine ? '\n' : ' ') + trimmed;
      isLine = piece.slice(piece.trimEnd().length).includes('\n');
    }
    // White space at the end of a block is a part of the text.
    from = start + text.slice(start, end).trimEnd().length;
  }
  return joined;
}
