/**
 * Async iterable that replays: each iteration yields all items from the first one, waits for new ones, and ends or
 * throws with the stream.
 */
export class ReplayStream<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #ending: { readonly failure?: unknown } | undefined;
  #wake: (() => void)[] = [];

  /** All items so far. */
  get items(): readonly Item[] {
    return this.#items;
  }

  /** Appends an item; does nothing after the end. */
  push(item: Item): void {
    if (this.#ending) return;
    this.#items.push(item);
    this.#wakeAll();
  }

  /** Ends the stream, and with it all iterations: with a failure they throw it after the last item. */
  end(ending: { readonly failure?: unknown } = {}): void {
    this.#ending ??= ending;
    this.#wakeAll();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let yielded = 0;
    for (;;) {
      for (const item of this.#items.slice(yielded)) {
        yielded++;
        yield item;
      }
      if (yielded < this.#items.length) continue;
      if (this.#ending && 'failure' in this.#ending) throw this.#ending.failure;
      if (this.#ending) return;
      await new Promise<void>((wake) => this.#wake.push(wake));
    }
  }

  /** The same stream with other items: each item gives none, one or several. */
  map<Mapped>(toItems: (item: Item) => readonly Mapped[]): AsyncIterable<Mapped> {
    const iterate = async function* (items: AsyncIterable<Item>): AsyncGenerator<Mapped, void, undefined> {
      for await (const item of items) yield* toItems(item);
    };
    return { [Symbol.asyncIterator]: () => iterate(this) };
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
