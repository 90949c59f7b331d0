import { createYielder } from '../../../base/eventLoop.ts';
import { splitWords, wordStem } from './splitWords.ts';

/** Max words of a key that are compared. */
const maxKeyWords = 16;
const entriesPerChunk = 1024;

/** The `keys` of entries: words, or several in a row, whose appearance in a query brings an entry. */
export class KeyIndex {
  /** Entries by key, its stems with a space between. */
  readonly #entries = new Map<string, number[]>();
  #maxWords = 0;
  #size = 0;

  /** The keys of all entries. */
  get size(): number {
    return this.#size;
  }

  add(key: string, entry: number): void {
    const stems = splitWords(key).slice(0, maxKeyWords).map(wordStem);
    if (stems.length === 0) return;
    this.#size++;
    this.#maxWords = Math.max(this.#maxWords, stems.length);
    const phrase = stems.join(' ');
    const entries = this.#entries.get(phrase);
    if (entries) entries.push(entry);
    else this.#entries.set(phrase, [entry]);
  }

  /** The entries that have a key in a query, of any form of its words. @param stems the words of the query, in order. */
  async find(stems: readonly string[]): Promise<ReadonlySet<number>> {
    const found = new Set<number>();
    if (this.#maxWords === 0) return found;
    const yieldToOthers = createYielder();
    const phrases = new Set<string>();
    for (let start = 0; start < stems.length; start++) {
      for (let words = 1; words <= Math.min(this.#maxWords, stems.length - start); words++) {
        const phrase = stems.slice(start, start + words).join(' ');
        if (this.#entries.has(phrase)) phrases.add(phrase);
      }
      await yieldToOthers();
    }
    for (const phrase of phrases)
      for (const [visited, entry] of (this.#entries.get(phrase) ?? []).entries()) {
        found.add(entry);
        if (visited % entriesPerChunk === 0) await yieldToOthers();
      }
    return found;
  }
}
