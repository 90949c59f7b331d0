import { escapePattern } from '../../../base/patterns.ts';
import type { CallMarkup } from '../../tool.ts';

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
      (mark) => escapePattern(mark) + (mark.endsWith('=') ? '[^\\s<>]{0,128}>?' : /\w$/.test(mark) ? '\\b' : ''),
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

/**
 * Whether a sentence has a mark as a word of its own: prose stands before it, and after it on the line.
 * @param before the end of the text before the mark.
 * @param after the beginning of the text after it.
 */
export const isMentioned = (before: string, after: string): boolean =>
  /[\p{L}\p{N},.;:!?)][ \t]*$/u.test(before) && /^(?:[.,;!?)]|[ \t]+[\p{L}(])/u.test(after);

/** Finds marks with a mistake in them: a letter or a bracket is wrong or lost, or the mark is cut off. */
export class BrokenMarks {
  readonly #words: readonly string[];
  readonly #prefixes = new Set<string>();
  readonly #known = new Map<string, boolean>();

  constructor({ opens, closes, inner }: CallMarkup) {
    const marks = [...opens, ...closes, ...inner].filter((mark) => /^[<[]/.test(mark));
    this.#words = [...new Set(marks.map(wordOf))].filter((word) => word.length > 2);
    for (const mark of marks)
      for (let length = 2; length < mark.length; length++) this.#prefixes.add(mark.slice(0, length));
  }

  /** Start of a broken mark that ends at an index, white space aside; the index itself: there is none. */
  startBefore(text: string, index: number): number {
    const start = tagStart(text, index);
    if (start === undefined) return index;
    const tag = text.slice(start, index).trimEnd();
    return this.#prefixes.has(tag) || /^[<[][/|]{0,2}$/.test(tag) || this.#isLike(tag) ? start : index;
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
    return text === '<' || this.#prefixes.has(text);
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
