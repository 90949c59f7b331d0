/** A list that grows until it ends or fails; every iteration begins at its first item and waits for those to come. */
export class ReplayStream<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #ending: { readonly failure?: unknown } | undefined;
  #wake: (() => void)[] = [];

  /** The items so far. */
  get items(): readonly Item[] {
    return this.#items;
  }

  /** Adds an item. */
  push(item: Item): void {
    this.#items.push(item);
    this.#wakeAll();
  }

  /** Ends the list; iterations end with it. */
  end(): void {
    this.#ending ??= {};
    this.#wakeAll();
  }

  /** Ends the list so that iterations throw after its last item. */
  fail(failure: unknown): void {
    this.#ending ??= { failure };
    this.#wakeAll();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let given = 0;
    for (;;) {
      for (const item of this.#items.slice(given)) {
        given++;
        yield item;
      }
      if (given < this.#items.length) continue;
      if (this.#ending && 'failure' in this.#ending) throw this.#ending.failure;
      if (this.#ending) return;
      await new Promise<void>((wake) => this.#wake.push(wake));
    }
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
