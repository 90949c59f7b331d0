/** Stop-string filter for streamed text: cuts it before the first stop string, and holds back a possible beginning of one. */
export class StopStringFilter {
  readonly #stops: readonly string[];
  #pending = '';
  #matched = false;

  /** @param stops empty strings are ignored. */
  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** Whether a stop string was found: all later text is dropped. */
  get matched(): boolean {
    return this.#matched;
  }

  /** Adds a piece of text; returns the text that can be sent now. */
  push(piece: string): string {
    if (this.#matched) return '';
    if (this.#stops.length === 0) return piece;
    const text = this.#pending + piece;
    const stopIndex = this.#firstStopIndex(text);
    this.#matched = stopIndex !== undefined;
    const safeLength = stopIndex ?? text.length - this.#possibleStopLength(text);
    this.#pending = this.#matched ? '' : text.slice(safeLength);
    return text.slice(0, safeLength);
  }

  /** Ends the text: returns what was held back. */
  flush(): string {
    const pending = this.#pending;
    this.#pending = '';
    return pending;
  }

  // The stop string that ends first wins, so that the result does not depend on how the text was split into pieces.
  #firstStopIndex(text: string): number | undefined {
    const matches = this.#stops
      .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }))
      .filter(({ start }) => start >= 0)
      .sort((a, b) => a.end - b.end || a.start - b.start);
    return matches[0]?.start;
  }

  /** The length of the longest end of the text that could be the beginning of a stop string. */
  #possibleStopLength(text: string): number {
    const lengths = this.#stops.map((stop) => {
      for (let length = Math.min(stop.length - 1, text.length); length > 0; length--) {
        if (text.endsWith(stop.slice(0, length))) return length;
      }
      return 0;
    });
    return Math.max(...lengths);
  }
}
