/** Work that is put off until a batch is being computed: beside that it costs no time. */
export class DeferredQueue {
  #work: (() => void)[] = [];

  /** Puts off some work, which must not throw; where no batch follows, nobody does it. */
  defer(work: () => void): void {
    this.#work.push(work);
  }

  /** A batch is about to be computed. */
  runDeferred(): void {
    const all = this.#work;
    if (all.length === 0) return;
    this.#work = [];
    setImmediate(() => all.forEach((work) => work()));
  }
}
