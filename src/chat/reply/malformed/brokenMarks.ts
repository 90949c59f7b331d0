import type { CallMarkup } from '../../callMarkup.ts';
import { isSimilar } from './similarWord.ts';

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
