import type { CallMarkup } from '../../callMarkup.ts';

/** A mark of a call in a text; `end` is exclusive. */
export interface MarkItem {
  readonly kind: 'opens' | 'closes' | 'inner';
  readonly start: number;
  readonly end: number;
}

/** Finds the marks of calls in texts. */
export class MarkFinder {
  readonly #pattern: RegExp;
  readonly #kinds = new Map<string, MarkItem['kind']>();
  readonly #open: readonly string[];
  readonly #prefixes = new Set<string>();
  /** Length of the longest mark. */
  readonly maxLength: number;
  /** The marks that nothing closes: what follows them belongs to the call. */
  readonly #neverClosed: ReadonlySet<string>;

  constructor(markup: CallMarkup) {
    for (const kind of ['inner', 'closes', 'opens'] as const)
      for (const mark of markup[kind]) if (isTag(mark)) this.#kinds.set(mark, kind);
    const marks = [...this.#kinds.keys()].sort((a, b) => b.length - a.length);
    this.#open = marks.filter((mark) => mark.endsWith('='));
    const alternatives = marks.map(
      (mark) => escapePattern(mark) + (mark.endsWith('=') ? '[^\\s<>]*>?' : /\w$/.test(mark) ? '\\b' : ''),
    );
    this.#pattern = alternatives.length === 0 ? /(?!)/g : new RegExp(alternatives.join('|'), 'g');
    for (const mark of marks)
      for (let length = 2; length < mark.length; length++) this.#prefixes.add(mark.slice(0, length));
    this.maxLength = marks[0]?.length ?? 0;
    this.#neverClosed = new Set(['<|python_tag|>']);
  }

  /** The first mark at or after an index. */
  next(text: string, from: number): MarkItem | undefined {
    this.#pattern.lastIndex = from;
    const match = this.#pattern.exec(text);
    if (!match) return undefined;
    const [found] = match;
    const mark = this.#kinds.has(found) ? found : this.#open.find((start) => found.startsWith(start));
    return { kind: this.#kinds.get(mark ?? '') ?? 'inner', start: match.index, end: match.index + found.length };
  }

  /** Whether a text has a closing mark. */
  closesIn(text: string): boolean {
    return this.marksIn(text).some((mark) => this.#kinds.get(mark) === 'closes');
  }

  /** A text without the marks in it. */
  without(text: string): string {
    return text.replaceAll(this.#pattern, '');
  }

  /** The marks in a text. */
  marksIn(text: string): readonly string[] {
    return text.match(this.#pattern) ?? [];
  }

  /** Whether what follows a mark belongs to the call up to the end of the text, whatever it is. */
  isNeverClosed(mark: string): boolean {
    return this.#neverClosed.has(mark);
  }

  /** Index before which no mark can start any more, as more text follows. */
  undecidedFrom(text: string): number {
    const cutOff = this.cutOffFrom(text);
    return cutOff ?? (/[<[]$/.test(text) ? text.length - 1 : text.length);
  }

  /** Where the text ends inside of a mark, the index at which that starts; at least two of its characters are there. */
  cutOffFrom(text: string): number | undefined {
    for (let index = Math.max(0, text.length - this.maxLength + 1); index < text.length - 1; index++)
      if (this.#prefixes.has(text.slice(index))) return index;
    return undefined;
  }
}

/** Whether a mark is told from words by its brackets. */
const isTag = (mark: string): boolean => /^(?:<[^\s<>]|\[[^\s[\]])/.test(mark) && /^\S+$/.test(mark);

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
