/** Work on one call. It calls `leaveGate` when the next call may be decided. */
export type QueuedCall = (leaveGate: () => void) => Promise<void>;

/**
 * Runs calls in their order, at most so many at the same time. They are decided one after the other: a user is asked one
 * question at a time, and a blocked call can stop those after it.
 */
export class CallQueue {
  readonly #concurrency: number;
  readonly #waiting: QueuedCall[] = [];
  #running = 0;
  #isDeciding = false;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Adds a call, which starts before this returns if none is in its way. */
  add(call: QueuedCall): void {
    this.#waiting.push(call);
    this.#startNext();
  }

  #startNext(): void {
    if (this.#isDeciding || this.#running >= this.#concurrency) return;
    const call = this.#waiting.shift();
    if (!call) return;
    this.#running++;
    this.#isDeciding = true;
    let isInGate = true;
    const leaveGate = (): void => {
      if (!isInGate) return;
      isInGate = false;
      this.#isDeciding = false;
      this.#startNext();
    };
    void call(leaveGate).finally(() => {
      this.#running--;
      leaveGate();
      this.#startNext();
    });
  }
}
