import type { RankedEntry } from './vectorSearch.ts';

/** The best of many entries: a heap whose root is the worst of those that are kept. */
export class BestEntries {
  readonly #max: number;
  readonly #heap: RankedEntry[] = [];

  /** @param max how many are kept. */
  constructor(max: number) {
    this.#max = max;
  }

  /** The entries, best first; of equal ones that with the lower index. */
  get sorted(): readonly RankedEntry[] {
    return this.#heap.toSorted((a, b) => (isWorse(a, b) ? 1 : -1));
  }

  /** Whether an entry would be kept. */
  admits(index: number, score: number): boolean {
    const [worst] = this.#heap;
    return this.#heap.length < this.#max || (worst !== undefined && isWorse(worst, { index, score }));
  }

  /** Keeps an entry, and drops the worst one if there are too many. */
  add(entry: RankedEntry): void {
    if (this.#heap.length < this.#max) this.#rise(this.#heap.push(entry) - 1, entry);
    else this.#sink(entry);
  }

  #rise(from: number, entry: RankedEntry): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#heap[parent];
      if (!above || !isWorse(entry, above)) break;
      this.#heap[at] = above;
      at = parent;
    }
    this.#heap[at] = entry;
  }

  #sink(entry: RankedEntry): void {
    let at = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * at + 1], this.#heap[2 * at + 2]];
      if (!left) break;
      const [child, next] = right && isWorse(right, left) ? [right, 2 * at + 2] : [left, 2 * at + 1];
      if (!isWorse(child, entry)) break;
      this.#heap[at] = child;
      at = next;
    }
    this.#heap[at] = entry;
  }
}

const isWorse = (a: RankedEntry, b: RankedEntry): boolean =>
  a.score < b.score || (a.score === b.score && a.index > b.index);
