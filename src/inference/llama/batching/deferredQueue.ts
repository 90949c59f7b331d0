/** Queue of callbacks that run while the next batch is being computed, when the JavaScript thread is idle. */
export class DeferredQueue {
  #callbacks: (() => void)[] = [];

  /** Adds a callback, which must not throw. It never runs if no batch follows. */
  defer(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  /** A batch is about to be computed: the callbacks run once its computation has started. */
  runDeferred(): void {
    const callbacks = this.#callbacks;
    if (callbacks.length === 0) return;
    this.#callbacks = [];
    setImmediate(() => callbacks.forEach((callback) => callback()));
  }
}
