/** A mark that was found in a text; `end` is exclusive. */
export interface FoundMark {
  readonly mark: string;
  readonly start: number;
  readonly end: number;
}

/** Searches a text that arrives in pieces for the first of several marks. Takes time linear in the text. */
export class MarkSearch {
  readonly #pattern: RegExp | undefined;
  readonly #properPrefixes = new Set<string>();
  readonly #maxLength: number;

  /** @param marks where one is the beginning of another, the longer one is found. */
  constructor(marks: Iterable<string>) {
    const longestFirst = [...new Set(marks)].filter((mark) => mark !== '').sort((a, b) => b.length - a.length);
    for (const mark of longestFirst)
      for (let length = 1; length < mark.length; length++) this.#properPrefixes.add(mark.slice(0, length));
    this.#maxLength = longestFirst[0]?.length ?? 0;
    const alternatives = longestFirst.map((mark) => mark.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
    this.#pattern = alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g');
  }

  /**
   * The first mark in a text from an index on; without one, the index before which no mark can start any more.
   * @param isComplete whether no text follows: then nothing is held back.
   */
  next(text: string, from: number, isComplete: boolean): FoundMark | number {
    const found = this.#find(text, from);
    const undecided = isComplete ? text.length : this.#undecidedFrom(text, from);
    // A longer mark may still follow from the same place, or from an earlier one.
    return found && found.start < undecided ? found : undecided;
  }

  #find(text: string, from: number): FoundMark | undefined {
    if (!this.#pattern) return undefined;
    this.#pattern.lastIndex = from;
    const match = this.#pattern.exec(text);
    return match ? { mark: match[0], start: match.index, end: match.index + match[0].length } : undefined;
  }

  /** Index of the first end of the text that is the beginning of a mark. */
  #undecidedFrom(text: string, from: number): number {
    for (let index = Math.max(from, text.length - this.#maxLength + 1); index < text.length; index++)
      if (this.#properPrefixes.has(text.slice(index))) return index;
    return text.length;
  }
}
