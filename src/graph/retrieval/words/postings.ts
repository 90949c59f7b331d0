/** Entries by term, as typed arrays: the postings of a term are those from `starts[term]` to `starts[term + 1]`. */
export interface Postings {
  readonly starts: Uint32Array;
  /** The entry of each posting, ascending within a term. */
  readonly entries: Uint32Array;
  /** How often the entry has the term, at most 255. */
  readonly counts: Uint8Array;
}

const maxCount = 255;
const chunkLength = 1 << 16;
const termsPerPause = 1024;

/** So many postings, as they are collected. */
class PostingsChunk {
  readonly terms = new Uint32Array(chunkLength);
  readonly entries = new Uint32Array(chunkLength);
  readonly counts = new Uint8Array(chunkLength);
}

/** Collects the terms of entry after entry. */
export class PostingsBuilder {
  // Not one growing array: copying it would hold the event loop.
  readonly #chunks: PostingsChunk[] = [];
  /** Postings so far. */
  length = 0;

  /** @param terms the terms of the entry, as often as it has them. */
  add(entry: number, terms: readonly number[]): void {
    const sorted = Uint32Array.from(terms).sort();
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
    for (const [chunk, { terms }] of this.#chunks.entries()) {
      for (let index = 0; index < this.#lengthOf(chunk); index++) {
        const next = (terms[index] ?? 0) + 1;
        starts[next] = (starts[next] ?? 0) + 1;
      }
      await yieldToOthers();
    }
    for (let term = 0; term < termCount; term++) starts[term + 1] = (starts[term + 1] ?? 0) + (starts[term] ?? 0);
    const next = starts.slice();
    const entries = new Uint32Array(this.length);
    const counts = new Uint8Array(this.length);
    for (const [chunk, collected] of this.#chunks.entries()) {
      for (let index = 0; index < this.#lengthOf(chunk); index++) {
        const term = collected.terms[index] ?? 0;
        const place = next[term] ?? 0;
        next[term] = place + 1;
        entries[place] = collected.entries[index] ?? 0;
        counts[place] = collected.counts[index] ?? 0;
      }
      await yieldToOthers();
    }
    return { starts, entries, counts };
  }

  #lengthOf(chunk: number): number {
    return Math.min(chunkLength, this.length - chunk * chunkLength);
  }

  #push(term: number, entry: number, count: number): void {
    const index = this.length % chunkLength;
    if (index === 0) this.#chunks.push(new PostingsChunk());
    const chunk = this.#chunks.at(-1);
    if (!chunk) return;
    chunk.terms[index] = term;
    chunk.entries[index] = entry;
    chunk.counts[index] = count;
    this.length++;
  }
}

/** Merges postings. @param positions new numbers of former entries, from 1; 0 = gone. @param added has all terms. */
export async function mergePostings(
  former: Postings,
  positions: Uint32Array,
  added: Postings,
  yieldToOthers: () => Promise<void>,
): Promise<Postings> {
  const terms = added.starts.length - 1;
  const starts = new Uint32Array(terms + 1);
  const entries = new Uint32Array(former.entries.length + added.entries.length);
  const counts = new Uint8Array(entries.length);
  let place = 0;
  for (let term = 0; term < terms; term++) {
    const end = former.starts[term + 1] ?? 0;
    for (let posting = former.starts[term] ?? 0; posting < end; posting++) {
      const position = positions[former.entries[posting] ?? 0] ?? 0;
      if (position === 0) continue;
      entries[place] = position - 1;
      counts[place++] = former.counts[posting] ?? 0;
    }
    const addedEnd = added.starts[term + 1] ?? 0;
    for (let posting = added.starts[term] ?? 0; posting < addedEnd; posting++) {
      entries[place] = added.entries[posting] ?? 0;
      counts[place++] = added.counts[posting] ?? 0;
    }
    starts[term + 1] = place;
    if (term % termsPerPause === 0) await yieldToOthers();
  }
  return { starts, entries: entries.subarray(0, place), counts: counts.subarray(0, place) };
}
