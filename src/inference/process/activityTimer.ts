/** Repeats work at intervals while something is active. Otherwise it has no timer, so that an idle process does nothing. */
export class ActivityTimer {
  readonly #ms: number;
  readonly #isActive: () => boolean;
  readonly #work: () => void;
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param onIdle is called when the timer stops. */
  constructor(ms: number, isActive: () => boolean, work: () => void, onIdle: () => void = () => undefined) {
    this.#ms = ms;
    this.#isActive = isActive;
    this.#work = work;
    this.#onIdle = onIdle;
  }

  /** Something is going to be active, or is not: the next tick will see. */
  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#ms).unref();
  }

  /** Something may have become active. */
  wake(): void {
    if (this.#isActive()) this.start();
  }

  /** The work is done once more after the activity has ended. */
  #tick(): void {
    this.#work();
    if (this.#isActive()) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#onIdle();
  }
}
