import { escapePattern } from '../../base/patterns.ts';
import { endOfMatch, skipWhiteSpace } from '../json/lenientParser.ts';
import { isMark, lexemes, type LayoutPart } from './layout.ts';

/** One thing to match: a lexeme that is no white space, or a slot, whose text is "". */
interface Element {
  readonly text: string;
  readonly isMark: boolean;
  readonly pattern: RegExp;
}

const slots = { id: /[\w.:-]{1,128}/y, index: /\d{1,9}/y } as const;

// A mark is looked for at most so far ahead, in UTF-16 units: models write other words between two marks.
const maxDistance = 128;

/** A part of a layout, matched as models write it: any white space or none, words and ids left out. */
export class TolerantPattern {
  readonly #elements: readonly Element[];

  constructor(parts: readonly LayoutPart[]) {
    this.#elements = parts.flatMap((part): readonly Element[] =>
      typeof part === 'string'
        ? lexemes(part)
            .filter((lexeme) => lexeme.trim() !== '')
            .map((text) => ({ text, isMark: isMark(text), pattern: new RegExp(escapePattern(text), 'y') }))
        : [{ text: '', isMark: false, pattern: slots[part.slot] }],
    );
  }

  /** What it begins with, if that is a literal; "" = it is not. */
  get first(): string {
    return this.#elements[0]?.text ?? '';
  }

  /** The literals to the first mark, with a space between them. */
  get start(): string {
    const end = this.#elements.findIndex(({ isMark, text }) => isMark || text === '');
    const start = end < 0 ? this.#elements : this.#elements.slice(0, end + 1);
    const texts = start.map(({ text }) => text);
    return texts.join(' ').trim();
  }

  /** The last mark; "" = none. */
  get lastMark(): string {
    return this.#elements.findLast(({ isMark }) => isMark)?.text ?? '';
  }

  /** The index after all of the pattern that stands at an index; what is missing is left out. */
  skip(text: string, index: number): number {
    let end = index;
    for (const element of this.#elements) end = endOfMatch(element.pattern, text, skipWhiteSpace(text, end)) ?? end;
    return end;
  }

  /** Whether the text ends inside of the pattern, which starts at an index. */
  isCutOff(text: string, index: number): boolean {
    let end = index;
    for (const element of this.#elements) {
      const start = skipWhiteSpace(text, end);
      if (start === text.length) return true;
      const next = endOfMatch(element.pattern, text, start);
      if (next === undefined && element.text.startsWith(text.slice(start))) return true;
      if (next === undefined && element.isMark) return false;
      end = next ?? end;
    }
    return false;
  }

  /** As `skip`, but beyond other text before the last mark of the pattern; undefined: the pattern has a mark and the text has not. */
  find(text: string, index: number): number | undefined {
    const end = this.skip(text, index);
    const { lastMark } = this;
    if (lastMark === '' || text.slice(index, end).includes(lastMark)) return end;
    const start = text.slice(end, end + maxDistance).indexOf(lastMark);
    return start < 0 ? undefined : end + start + lastMark.length;
  }
}
