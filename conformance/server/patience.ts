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
