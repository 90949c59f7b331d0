import { splitWords } from './splitWords.ts';
import { wordStem } from './wordStem.ts';

/** Max words of a key that are compared. */
const maxKeyWords = 16;

/** The `keys` of entries: words, or several in a row, whose appearance in a query brings an entry. */
export class KeyIndex {
  /** Entries by key, its stems with a space between. */
  readonly #entries = new Map<string, number[]>();
  #maxWords = 0;

  /** Different keys. */
  get size(): number {
    return this.#entries.size;
  }

  add(key: string, entry: number): void {
    const stems = splitWords(key).slice(0, maxKeyWords).map(wordStem);
    if (stems.length === 0) return;
    this.#maxWords = Math.max(this.#maxWords, stems.length);
    const phrase = stems.join(' ');
    const entries = this.#entries.get(phrase);
    if (entries) entries.push(entry);
    else this.#entries.set(phrase, [entry]);
  }

  /** The entries that have a key in a query, of any form of its words. @param stems the words of the query, in order. */
  find(stems: readonly string[]): readonly number[] {
    const found = new Set<number>();
    for (let start = 0; start < stems.length; start++)
      for (let words = 1; words <= Math.min(this.#maxWords, stems.length - start); words++)
        for (const entry of this.#entries.get(stems.slice(start, start + words).join(' ')) ?? []) found.add(entry);
    return [...found];
  }
}
