import { endOfMatch, skipWhiteSpace } from '../../json/lenientParser.ts';
import { isMark, lexemes } from '../marks.ts';
import type { LayoutPart } from '../layout.ts';

/** One thing to match: a lexeme that is no white space, or a slot. */
type Element = { readonly text: string; readonly isMark: boolean } | { readonly slot: RegExp };

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
            .map((text) => ({ text, isMark: isMark(text) }))
        : [{ slot: slots[part.slot] }],
    );
  }

  /** The first literal; "" = none. */
  get first(): string {
    const [first] = this.#elements;
    return first && 'text' in first ? first.text : '';
  }

  /** The literals to the first mark, with a space between them. */
  get start(): string {
    const texts = this.#elements.map((element) => ('text' in element ? element : undefined));
    const end = texts.findIndex((element) => !element || element.isMark);
    const start = end < 0 ? texts : texts.slice(0, end + 1);
    return start
      .map((element) => element?.text ?? '')
      .join(' ')
      .trim();
  }

  /** The last mark; "" = none. */
  get lastMark(): string {
    const last = this.#elements.findLast((element) => 'text' in element && element.isMark);
    return last && 'text' in last ? last.text : '';
  }

  /** The index after all of the pattern that stands at an index; what is missing is left out. */
  skip(text: string, index: number): number {
    let end = index;
    for (const element of this.#elements) {
      const start = skipWhiteSpace(text, end);
      if ('slot' in element) end = endOfMatch(element.slot, text, start) ?? end;
      else if (text.startsWith(element.text, start)) end = start + element.text.length;
    }
    return end;
  }

  /** Whether the text ends inside of the pattern, which starts at an index. */
  isCutOff(text: string, index: number): boolean {
    let end = index;
    for (const element of this.#elements) {
      const start = skipWhiteSpace(text, end);
      if (start === text.length) return true;
      if ('slot' in element) end = endOfMatch(element.slot, text, start) ?? end;
      else if (text.startsWith(element.text, start)) end = start + element.text.length;
      else if (text.length - start < element.text.length && element.text.startsWith(text.slice(start))) return true;
      else if (element.isMark) return false;
    }
    return false;
  }

  /** As `skip`, but beyond other text before the last mark of the pattern; undefined: the pattern has a mark and the text has not. */
  find(text: string, index: number): number | undefined {
    const end = this.skip(text, index);
    const last = this.#elements.findLast((element) => 'text' in element && element.isMark);
    if (last === undefined || !('text' in last)) return end;
    if (text.slice(index, end).includes(last.text)) return end;
    const start = text.slice(end, end + maxDistance).indexOf(last.text);
    return start < 0 ? undefined : end + start + last.text.length;
  }
}
