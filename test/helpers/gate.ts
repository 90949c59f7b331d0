/** A gate that holds work until a test opens it; closed at first. */
export class Gate {
  #open = (): void => undefined;
  #closed: Promise<void> | undefined;

  constructor() {
    this.close();
  }

  /** A promise that resolves when the gate opens; undefined while it is open. */
  get closed(): Promise<void> | undefined {
    return this.#closed;
  }

  close(): void {
    this.#closed ??= new Promise((resolve) => (this.#open = resolve));
  }

  /** Lets all waiting work continue, and all later work until `close`. */
  open(): void {
    this.#open();
    this.#closed = undefined;
  }
}
