import type { CallMarkup, MalformedCall } from '../../tool.ts';
import { withEdges } from './blockEdges.ts';
import { BrokenMarks, MarkFinder } from './markFinder.ts';
import { ToolNameFinder } from './toolNames.ts';
import { malformedBlocks } from './malformedBlocks.ts';

/** A text without markup of calls, and the markup that gave none. */
export interface SplitMarkup {
  readonly answer: string;
  readonly unread: readonly MalformedCall[];
}

/** What a splitter knows of a reply. */
export interface SplitMarkupOptions {
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
  /** Whether the reply has calls, so that a closing mark may be what remains of one. */
  readonly hasCalls: boolean;
}

/** Markup of calls in a text whose calls are taken out. */
class MarkupSplitter {
  readonly finder: MarkFinder;
  readonly #brokenMarks: BrokenMarks;

  constructor(markup: CallMarkup) {
    this.finder = new MarkFinder(markup);
    this.#brokenMarks = new BrokenMarks(markup);
  }

  /** Takes the markup out of a text. Never throws; takes time linear in the text. */
  split(text: string, { hasCalls, ...options }: SplitMarkupOptions): SplitMarkup {
    const names = new ToolNameFinder(options.toolNames);
    const found = malformedBlocks(text, { ...options, names, finder: this.finder });
    const whole = withEdges(text, found, { broken: this.#brokenMarks, names });
    const unread = whole
      .filter(({ holds }) => !(holds === 'rest' && hasCalls))
      .map(({ start, end, reason }) => ({ text: text.slice(start, end).trim(), reason }));
    return { answer: withoutBlocks(text, whole), unread };
  }
}

const splitters = new WeakMap<CallMarkup, MarkupSplitter>();

/** The splitter for the marks of calls; the same object for the same marks. */
export function markupSplitter(markup: CallMarkup): MarkupSplitter {
  const known = splitters.get(markup) ?? new MarkupSplitter(markup);
  splitters.set(markup, known);
  return known;
}

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
