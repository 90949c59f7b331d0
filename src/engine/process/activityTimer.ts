/** Repeats work at intervals while something is active. Otherwise it has no timer, so that an idle process does nothing. */
export class ActivityTimer {
  readonly #ms: number;
  readonly #isActive: () => boolean;
  readonly #work: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number, isActive: () => boolean, work: () => void) {
    this.#ms = ms;
    this.#isActive = isActive;
    this.#work = work;
  }

  /** Something may have become active. */
  wake(): void {
    if (this.#timer || !this.#isActive()) return;
    this.#timer = setInterval(() => this.#tick(), this.#ms).unref();
  }

  /** The work is done once more after the activity has ended. */
  #tick(): void {
    this.#work();
    if (this.#isActive()) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
