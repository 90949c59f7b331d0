/** Turns absolute readings of a counter into increments. */
export class CounterDelta {
  #lastReading = 0;

  /** The increase since the last reading. A counter that has fallen was reset: then the whole reading counts. */
  since(reading: number): number {
    const increase = reading >= this.#lastReading ? reading - this.#lastReading : reading;
    this.#lastReading = reading;
    return increase;
  }
}
