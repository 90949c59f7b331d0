/**
 * Barrier for loads: pending unloads and deletions by model name. A new load of a model waits for them, so that its
 * weights are not in memory twice, and its files are not read while they are being deleted.
 */
export class UnloadBarrier {
  readonly #pending = new Map<string, Promise<unknown>>();

  /** Resolves when all work that is pending now has settled; never rejects. Undefined: nothing is pending. */
  pending(name: string): Promise<unknown> | undefined {
    return this.#pending.get(name);
  }

  /** Adds work that loads which begin from now on wait for. @returns the work itself. */
  add<Done>(name: string, work: Promise<Done>): Promise<Done> {
    const all = Promise.allSettled([this.#pending.get(name), work]);
    this.#pending.set(name, all);
    void all.then(() => this.#pending.get(name) === all && this.#pending.delete(name));
    return work;
  }

  /** Delays loads that begin from now on until the result is disposed of. */
  block(name: string): Disposable {
    let unblock = (): void => {};
    void this.add(name, new Promise<void>((resolve) => (unblock = resolve)));
    return { [Symbol.dispose]: () => unblock() };
  }
}
