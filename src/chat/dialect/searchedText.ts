/**
 * A model's text with its last searches: searching for the same things again and again, from increasing positions, takes
 * linear time in all, also where they do not occur.
 */
export class SearchedText {
  readonly text: string;
  readonly #searches = new Map<string, Search>();

  constructor(text: string) {
    this.text = text;
  }

  /** Index of the first occurrence of a literal at or after an index; Infinity: none. */
  indexOf(literal: string, from: number): number {
    return this.find(literal, from, () => {
      const index = this.text.indexOf(literal, from);
      return index < 0 ? Infinity : index;
    });
  }

  /**
   * The first index at or after `from` that `search` finds; Infinity: none. Results are kept by `key`: the search must
   * depend on nothing else but the text and `from`.
   */
  find(key: string, from: number, search: () => number): number {
    const known = this.#searches.get(key);
    if (known && known.from <= from && from <= known.index) return known.index;
    const index = search();
    this.#searches.set(key, { from, index });
    return index;
  }
}

/** Where a search began, and what it found. */
interface Search {
  readonly from: number;
  readonly index: number;
}
