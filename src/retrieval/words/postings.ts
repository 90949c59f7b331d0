/** Entries by term, as typed arrays: the postings of a term are those from `starts[term]` to `starts[term + 1]`. */
export interface Postings {
  readonly starts: Uint32Array;
  /** The entry of each posting, ascending within a term. */
  readonly entries: Uint32Array;
  /** How often the entry has the term, at most 255. */
  readonly counts: Uint8Array;
}

const maxCount = 255;
const chunk = 1 << 16;

/** Collects the terms of entry after entry. */
export class PostingsBuilder {
  #terms = new Uint32Array(chunk);
  #entries = new Uint32Array(chunk);
  #counts = new Uint8Array(chunk);
  #length = 0;

  /** @param terms the terms of the entry, as often as it has them. */
  add(entry: number, terms: readonly number[]): void {
    const sorted = [...terms].sort((a, b) => a - b);
    for (let start = 0; start < sorted.length;) {
      let end = start + 1;
      while (sorted[end] === sorted[start]) end++;
      this.#push(sorted[start] ?? 0, entry, Math.min(end - start, maxCount));
      start = end;
    }
  }

  /** Sorts the postings by term. @param yieldToOthers is called between chunks of the work. */
  async build(termCount: number, yieldToOthers: () => Promise<void>): Promise<Postings> {
    const starts = new Uint32Array(termCount + 1);
    await this.#eachChunk(yieldToOthers, (index) => {
      const term = this.#terms[index] ?? 0;
      starts[term + 1] = (starts[term + 1] ?? 0) + 1;
    });
    for (let term = 0; term < termCount; term++) starts[term + 1] = (starts[term + 1] ?? 0) + (starts[term] ?? 0);
    const next = starts.slice();
    const entries = new Uint32Array(this.#length);
    const counts = new Uint8Array(this.#length);
    await this.#eachChunk(yieldToOthers, (index) => {
      const term = this.#terms[index] ?? 0;
      const place = next[term] ?? 0;
      next[term] = place + 1;
      entries[place] = this.#entries[index] ?? 0;
      counts[place] = this.#counts[index] ?? 0;
    });
    return { starts, entries, counts };
  }

  async #eachChunk(yieldToOthers: () => Promise<void>, visit: (index: number) => void): Promise<void> {
    for (let start = 0; start < this.#length; start += chunk) {
      const end = Math.min(start + chunk, this.#length);
      for (let index = start; index < end; index++) visit(index);
      await yieldToOthers();
    }
  }

  #push(term: number, entry: number, count: number): void {
    if (this.#length === this.#terms.length) this.#grow();
    this.#terms[this.#length] = term;
    this.#entries[this.#length] = entry;
    this.#counts[this.#length] = count;
    this.#length++;
  }

  #grow(): void {
    const size = this.#length * 2;
    const [terms, entries, counts] = [new Uint32Array(size), new Uint32Array(size), new Uint8Array(size)];
    terms.set(this.#terms);
    entries.set(this.#entries);
    counts.set(this.#counts);
    [this.#terms, this.#entries, this.#counts] = [terms, entries, counts];
  }
}
