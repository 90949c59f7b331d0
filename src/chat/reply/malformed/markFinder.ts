import type { CallMarkup } from '../../tool.ts';
import { MarkSearch, type TextRange } from '../marks.ts';

/** A mark of a call in a text; `end` is exclusive. */
export interface MarkItem extends TextRange {
  readonly kind: 'opens' | 'closes' | 'inner';
}

/** Finds the marks of calls in texts, also with a mistake in them: a letter or a bracket is wrong or lost, or they are cut off. */
export class MarkFinder extends MarkSearch {
  readonly #kinds: ReadonlyMap<string, MarkItem['kind']>;
  readonly #words: readonly string[];
  readonly #known = new Map<string, boolean>();
  readonly #structure: RegExp;

  constructor(markup: CallMarkup) {
    const tags = (['inner', 'closes', 'opens'] as const).flatMap((kind) =>
      markup[kind].filter(isTag).map((mark) => [mark, kind] as const),
    );
    super(
      tags.map(([mark]) => mark),
      (mark) => (mark.endsWith('=') ? '[^\\s<>]{0,128}>?' : /\w$/.test(mark) ? '\\b' : ''),
    );
    this.#kinds = new Map(tags);
    this.#structure = new RegExp(`${this.source}|[[\\]{}"\`\\n]`, 'g');
    const marks = [...markup.opens, ...markup.closes, ...markup.inner].filter((mark) => /^[<[]/.test(mark));
    this.#words = [...new Set(marks.map(wordOf))].filter((word) => word.length > 2);
  }

  /** The first mark at or after an index. */
  find(text: string, from: number): MarkItem | undefined {
    const found = this.first(text, from);
    return found && { kind: this.#kindOf(found.mark), start: found.start, end: found.end };
  }

  /** The first mark, or the index of the first bracket, quote, backtick or line feed, whichever comes first. */
  structure(text: string, from: number): MarkItem | number | undefined {
    this.#structure.lastIndex = from;
    const match = this.#structure.exec(text);
    if (!match) return undefined;
    const { index: start, 0: found } = match;
    return found.length === 1 ? start : { kind: this.#kindOf(found), start, end: start + found.length };
  }

  #kindOf(mark: string): MarkItem['kind'] {
    return this.#kinds.get(mark) ?? this.#kinds.get(mark.slice(0, mark.indexOf('=') + 1)) ?? 'inner';
  }

  /** Whether a text has a closing mark. */
  closesIn(text: string): boolean {
    return this.marksIn(text).some((mark) => this.#kinds.get(mark) === 'closes');
  }

  /** Where the text ends inside of a mark, the index at which that starts; at least two of its characters are there. */
  cutOffFrom(text: string): number | undefined {
    const start = this.undecidedFrom(text);
    return start < text.length - 1 ? start : undefined;
  }

  /** Start of a broken mark that ends at an index, white space aside; the index itself: there is none. */
  startBefore(text: string, index: number): number {
    const start = tagStart(text, index);
    if (start === undefined) return index;
    const tag = text.slice(start, index).trimEnd();
    return this.isBeginning(tag) || /^[<[][/|]{0,2}$/.test(tag) || this.#isLike(tag) ? start : index;
  }

  /** End of a broken mark, or of the rest of one, that starts at an index, white space aside; the index itself: there is none. */
  endAfter(text: string, index: number): number {
    const after = text.slice(index, index + maxLength);
    const rest = restOfTag.exec(after);
    if (rest) return index + rest[0].length;
    const match = tagAfter.exec(after);
    return match && this.#isLike(match[0].trim()) ? index + match[0].length : index;
  }

  /** Whether a word with a bracket is a broken mark, although no call stands next to it. */
  isAlone(tag: string): boolean {
    return tag.includes('_') && this.#isLike(tag);
  }

  /** Whether a line has nothing but the beginning of a mark. */
  isLine(line: string): boolean {
    const text = line.trim();
    return text === '<' || this.isBeginning(text);
  }

  #isLike(tag: string): boolean {
    const word = wordOf(tag);
    const known = this.#known.get(word);
    if (known !== undefined) return known;
    const isLike =
      word.length > 2 && this.#words.some((mark) => (mark.length > 3 ? isSimilar(mark, word) : mark === word));
    if (this.#known.size < maxKnown) this.#known.set(word, isLike);
    return isLike;
  }
}

/** Whether a mark is told from words by its brackets. */
const isTag = (mark: string): boolean => /^(?:<[^\s<>]|\[[^\s[\]])/.test(mark) && /^\S+$/.test(mark);

/**
 * Whether a sentence has a mark as a word of its own: prose stands before it, and after it on the line.
 * @param before the end of the text before the mark.
 * @param after the beginning of the text after it.
 */
export const isMentioned = (before: string, after: string): boolean =>
  /[\p{L}\p{N},.;:!?)][ \t]*$/u.test(before) && /^(?:[.,;!?)]|[ \t]+[\p{L}(])/u.test(after);

const maxLength = 64;
const maxKnown = 1000;

const tagAfter = /^\s*(?:[<[][/|]{0,2}[A-Za-z_][\w|/=.-]{1,40}[>\]]?|[/|]{0,2}[A-Za-z_]{3,24}[|]?[>\]])/;
const restOfTag = /^[\w|=/.-]{0,24}[>\]]/;

/** The letters of a mark; of a mark with a value, those before it. */
const wordOf = (mark: string): string => /[a-z_]+/.exec(mark.toLowerCase())?.[0] ?? '';

const tagCharacter = /[^\s<>[\]{}]/;

/** Start of what may be a tag, white space between it and the index aside; an attribute may stand in it. */
function tagStart(text: string, index: number): number | undefined {
  let end = index;
  while (end > 0 && index - end < 16 && /\s/.test(text[end - 1] ?? '')) end--;
  let start = /[>\]]/.test(text[end - 1] ?? '') ? end - 1 : end;
  const isClosed = start < end;
  const least = Math.max(0, end - maxLength);
  let wordStart = start;
  for (let words = 0; words < 2; words++) {
    while (start > least && tagCharacter.test(text[start - 1] ?? '')) start--;
    if (words === 0) wordStart = start;
    const previous = text[start - 1] ?? '';
    if (previous === '<' || previous === '[') return start - 1;
    if (previous !== ' ') break;
    start--;
  }
  return isClosed && wordStart < end - 1 && /^[/|]{0,2}[A-Za-z_]{3,24}\|?[>\]]$/.test(text.slice(wordStart, end))
    ? wordStart
    : undefined;
}

/** Whether two words are equal but for one letter: another one, one more, one less, or two that have changed places. */
export function isSimilar(a: string, b: string): boolean {
  if (a === b) return true;
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const restOf = (word: string, skipped: number): string => word.slice(start + skipped);
  if (a.length !== b.length) return a.length > b.length ? restOf(a, 1) === restOf(b, 0) : restOf(a, 0) === restOf(b, 1);
  const isSwapped = a[start] === b[start + 1] && a[start + 1] === b[start] && restOf(a, 2) === restOf(b, 2);
  return isSwapped || restOf(a, 1) === restOf(b, 1);
}
