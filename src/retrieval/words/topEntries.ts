import type { RankedEntry } from '../vectorSearch.ts';

/** The entries of the highest scores so far; of equal scores the first ones. */
export class TopEntries {
  readonly #max: number;
  readonly #entries: RankedEntry[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Best first. */
  get entries(): readonly RankedEntry[] {
    return this.#entries;
  }

  /** Whether an entry would be among them. */
  accepts(index: number, score: number): boolean {
    const last = this.#entries[this.#max - 1];
    return last === undefined || precedes({ index, score }, last);
  }

  /** Adds an entry that is accepted. */
  add(index: number, score: number): void {
    const entry = { index, score };
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle];
      if (other && precedes(other, entry)) low = middle + 1;
      else high = middle;
    }
    this.#entries.splice(low, 0, entry);
    if (this.#entries.length > this.#max) this.#entries.pop();
  }
}

const precedes = (a: RankedEntry, b: RankedEntry): boolean =>
  a.score > b.score || (a.score === b.score && a.index < b.index);
