/** Text on its way out, cut before the first stop string; what may yet become one is held back. */
export class StopStringFilter {
  readonly #stops: readonly string[];
  #pending = '';
  #matched = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** Whether a stop string has come: nothing is let through any more. */
  get matched(): boolean {
    return this.#matched;
  }

  /** Takes the next piece of text and gives what may be sent now. */
  push(piece: string): string {
    if (this.#matched) return '';
    if (this.#stops.length === 0) return piece;
    const text = this.#pending + piece;
    const cut = this.#firstStop(text);
    this.#matched = cut !== undefined;
    const safe = cut ?? text.length - this.#possibleStart(text);
    this.#pending = this.#matched ? '' : text.slice(safe);
    return text.slice(0, safe);
  }

  /** What was held back, when no more text comes. */
  flush(): string {
    const held = this.#pending;
    this.#pending = '';
    return held;
  }

  // The one that is complete first wins, so that the result does not depend on how the text was cut into pieces.
  #firstStop(text: string): number | undefined {
    const found = this.#stops
      .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }))
      .filter(({ start }) => start >= 0)
      .sort((a, b) => a.end - b.end || a.start - b.start);
    return found[0]?.start;
  }

  #possibleStart(text: string): number {
    const lengths = this.#stops.map((stop) => {
      for (let length = Math.min(stop.length - 1, text.length); length > 0; length--) {
        if (text.endsWith(stop.slice(0, length))) return length;
      }
      return 0;
    });
    return Math.max(...lengths);
  }
}
