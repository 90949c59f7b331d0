/** Holds work back until a test lets it go on; it is closed at first. */
export class Gate {
  #open = (): void => undefined;
  #closed: Promise<void> | undefined;

  constructor() {
    this.close();
  }

  /** What to wait for; undefined while the gate is open. */
  get closed(): Promise<void> | undefined {
    return this.#closed;
  }

  close(): void {
    this.#closed ??= new Promise((resolve) => (this.#open = resolve));
  }

  /** Lets go on what waits, and all that comes before it is closed again. */
  open(): void {
    this.#open();
    this.#closed = undefined;
  }
}
