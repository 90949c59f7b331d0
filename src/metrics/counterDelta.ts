/** Turns what is read off a count, now and then, into what it has grown by. */
export class CounterDelta {
  #seen = 0;

  /** The growth since the last look; a count that has fallen has begun anew. */
  since(now: number): number {
    const growth = now >= this.#seen ? now - this.#seen : now;
    this.#seen = now;
    return growth;
  }
}
