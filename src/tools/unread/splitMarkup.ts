import { joinMarkup, type CallMarkup } from '../callMarkup.ts';
import { commonMarkup } from '../detect/tags.ts';
import { withEdges } from './blockEdges.ts';
import { BrokenMarks } from './brokenMarks.ts';
import { MarkFinder } from './markFinder.ts';
import { ToolNameFinder } from './toolNames.ts';
import { unreadBlocks } from './unreadBlocks.ts';
import type { UnreadCall } from './unreadCall.ts';
import { withoutBlocks } from './withoutBlocks.ts';

/** A text without markup of calls, and the markup that gave none. */
export interface SplitMarkup {
  readonly answer: string;
  readonly unread: readonly UnreadCall[];
}

/** Options of `splitMarkup`. */
export interface SplitMarkupOptions {
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
  /** Whether the reply has calls, so that a closing mark may be what remains of one. */
  readonly hasCalls: boolean;
}

/** Markup of calls in a text whose calls are taken out. */
export class MarkupSplitter {
  readonly #finder: MarkFinder;
  readonly #brokenMarks: BrokenMarks;

  /** @param own the marks of a format, in addition to those that all models know. */
  constructor(own: CallMarkup | undefined) {
    const markup = joinMarkup([commonMarkup, ...(own ? [own] : [])]);
    this.#finder = new MarkFinder(markup);
    this.#brokenMarks = new BrokenMarks(markup);
  }

  /** Takes the markup out of a text. Never throws; takes time linear in the text. */
  split(text: string, { hasCalls, ...options }: SplitMarkupOptions): SplitMarkup {
    const names = new ToolNameFinder(options.toolNames);
    const found = unreadBlocks(text, { ...options, names, finder: this.#finder });
    const whole = withEdges(text, found, { broken: this.#brokenMarks, names });
    const unread = whole
      .filter(({ isLeftover }) => !(isLeftover && hasCalls))
      .map(({ start, end, reason }) => ({ text: text.slice(start, end).trim(), reason }));
    return { answer: withoutBlocks(text, whole), unread };
  }
}
