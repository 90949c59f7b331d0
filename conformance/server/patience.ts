/** Waits for what events of a connection bring about. */
export class WakeUps {
  readonly #patience: Patience;
  readonly #hasEnded: () => boolean;
  readonly #waiting = new Set<() => void>();

  /** @param hasEnded whether no event can come any more. */
  constructor(patience: Patience, hasEnded: () => boolean) {
    this.#patience = patience;
    this.#hasEnded = hasEnded;
  }

  /** Waits until a condition holds. Returns false when it does not within the time, or before the end. */
  async until(holds: () => boolean, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + this.#patience.limit(timeoutMs);
    while (!holds()) {
      if (this.#hasEnded()) return false;
      const left = deadline - performance.now();
      if (left <= 0) {
        this.#patience.missed();
        return false;
      }
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        timer = setTimeout(resolve, left);
      });
      clearTimeout(timer);
    }
    return true;
  }

  /** An event came: all conditions are looked at. */
  wake(): void {
    this.#waiting.forEach((resolve) => resolve());
    this.#waiting.clear();
  }
}

const maxMissed = 10;
const impatientMs = 1000;

/** How long the kit waits for a server: a second at most, once it has waited in vain ten times. */
export class Patience {
  #missed = 0;

  /** A wait with this time limit begins. */
  limit(timeoutMs: number): number {
    return this.#missed < maxMissed ? timeoutMs : Math.min(timeoutMs, impatientMs);
  }

  /** Nothing came. */
  missed(): void {
    this.#missed++;
  }
}
