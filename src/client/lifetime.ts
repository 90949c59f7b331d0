/** Tells its listeners once that something, such as an agent or a connection, is gone for good. */
export class Lifetime {
  #ended: { readonly reason: unknown } | undefined;
  readonly #listeners = new Set<(reason: unknown) => void>();

  /** Calls `listen` at the end, or at once after it. Returns a function that stops listening. */
  onEnd(listen: (reason: unknown) => void): () => void {
    if (this.#ended) listen(this.#ended.reason);
    else this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }

  /** Ends it; later calls do nothing. */
  end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = { reason };
    for (const listen of this.#listeners) listen(reason);
    this.#listeners.clear();
  }
}
