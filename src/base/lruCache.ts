interface LruLimits {
  readonly maxEntries?: number;
  /** UTF-16 units of all keys together. */
  readonly maxKeyLength?: number;
}

/** Keeps the entries that were used last (LRU). */
export class LruCache<Value> {
  readonly #limits: Required<LruLimits>;
  /** Least recently used first. */
  readonly #entries = new Map<string, Value>();
  #keyLength = 0;

  constructor({ maxEntries = Infinity, maxKeyLength = Infinity }: LruLimits) {
    this.#limits = { maxEntries, maxKeyLength };
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    if (!this.#entries.delete(key)) this.#keyLength += key.length;
    this.#entries.set(key, value);
    const { maxEntries, maxKeyLength } = this.#limits;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#keyLength <= maxKeyLength) break;
      this.#entries.delete(oldest);
      this.#keyLength -= oldest.length;
    }
  }
}
