/** What a new load of a model has to wait for, by the model's name: its old weights are freed, or its files deleted. */
export class UnloadBarrier {
  readonly #of = new Map<string, Promise<unknown>>();

  /** Settles, and never rejects, when all has come to its end that was there when this was asked. */
  pending(name: string): Promise<unknown> | undefined {
    return this.#of.get(name);
  }

  /** Has loads that begin from now on wait for some work, too. */
  add<Done>(name: string, work: Promise<Done>): Promise<Done> {
    const all = Promise.allSettled([this.#of.get(name), work]);
    this.#of.set(name, all);
    void all.then(() => this.#of.get(name) === all && this.#of.delete(name));
    return work;
  }

  /** Has loads that begin from now on wait until the hold is disposed of. */
  block(name: string): Disposable {
    let end = (): void => {};
    void this.add(name, new Promise<void>((resolve) => (end = resolve)));
    return { [Symbol.dispose]: () => end() };
  }
}
