/** LRU cache: keeps the entries that were used last. */
export class RecentlyUsed<Key, Value> {
  /** Least recently used first. */
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;

  /** @param limit number of entries that are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The entry of a key, which is created if it is not there. */
  get(key: Key, create: () => Value): Value {
    const value = this.#entries.get(key) ?? create();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const leastRecent of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit) break;
      this.#entries.delete(leastRecent);
    }
    return value;
  }
}
