import { memoized, memoizedByKey } from '../../base/memoized.ts';
import { distance } from 'fastest-levenshtein';
import type { CallMarkup } from '../tool.ts';
import { MarkSearch } from '../markSearch.ts';

export type MarkKind = 'opens' | 'closes' | 'inner';

/** Knows the marks of calls, also with a mistake in them: a letter or a bracket is wrong or lost, or they are cut off. */
export class MarkFinder extends MarkSearch {
  readonly #kinds: ReadonlyMap<string, MarkKind>;
  readonly #words: readonly string[];

  constructor(markup: CallMarkup) {
    const tags = (['inner', 'closes', 'opens'] as const).flatMap((kind) =>
      markup[kind].filter(isTag).map((mark) => [mark, kind] as const),
    );
    super(
      tags.map(([mark]) => mark),
      (mark) => (mark.endsWith('=') ? '[^\\s<>]{0,128}>?' : /\w$/.test(mark) ? '\\b' : ''),
    );
    this.#kinds = new Map(tags);
    const marks = [...markup.opens, ...markup.closes, ...markup.inner].filter((mark) => /^[<[]/.test(mark));
    this.#words = [...new Set(marks.map(wordOf))].filter((word) => word.length > 2);
  }

  kindOf(mark: string): MarkKind {
    return this.#kinds.get(mark) ?? this.#kinds.get(mark.slice(0, mark.indexOf('=') + 1)) ?? 'inner';
  }

  /** Where the text ends inside of a mark, the index at which that starts; at least two of its characters are there. */
  cutOffFrom(text: string): number | undefined {
    const start = this.undecidedFrom(text);
    return start < text.length - 1 ? start : undefined;
  }

  /** How much of a word with a bracket is a mark with a mistake in it, or the beginning of one; 0: it is none. */
  brokenLength(tag: string): number {
    const word = tag.replace(/[>\]]$/, '');
    const isClosed = tag.length > word.length && tag.endsWith(tag.startsWith('[') ? ']' : '>');
    if (this.#isLike(wordOf(tag)) || this.isBeginning(tag)) return tag.length;
    if (isClosed) return 0;
    if (this.isBeginning(word)) return word.length;
    let length = word.length - 1;
    while (length >= minBeginning && !this.isBeginning(word.slice(0, length))) length--;
    return length < minBeginning ? 0 : length;
  }

  readonly #isLike = memoizedByKey(
    (word: string) => word,
    (word) => this.#words.some((mark) => (mark.length > 3 ? isSimilar(mark, word) : mark === word)),
  );
}

// Shorter beginnings are those of words, too.
const minBeginning = 4;

const isTag = (mark: string): boolean => /^(?:<[^\s<>]|\[[^\s[\]])/.test(mark) && /^\S+$/.test(mark);

/** The letters of a mark; of a mark with a value, those before it. */
const wordOf = (mark: string): string => /[a-z_]+/.exec(mark.toLowerCase())?.[0] ?? '';

/** Whether two words are equal but for one letter: another one, one more, one less, or two that have changed places. */
export const isSimilar = (a: string, b: string): boolean =>
  Math.abs(a.length - b.length) < 2 &&
  (distance(a, b) < 2 || (distance(a, b) === 2 && [...a].sort().join() === [...b].sort().join()));

/** The finder of the marks of calls; the same object for the same marks. */
export const markFinder = memoized((markup: CallMarkup) => new MarkFinder(markup));
export const noMarks: CallMarkup = { opens: [], closes: [], inner: [] };
