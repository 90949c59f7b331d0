/** Markdown code spans in text that arrives in pieces: code with one or two backticks around it, in one paragraph. */
export class CodeSpanState {
  #open = 0;

  /** Whether text may be code: a run of backticks before it is not closed yet. */
  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Takes the next piece of text; a run of backticks must not be cut. */
  push(text: string): void {
    for (const [token] of text.matchAll(tokens)) {
      if (!token.startsWith('`')) this.#open = 0;
      else if (this.#open === 0) this.#open = token.length > maxRun ? 0 : token.length;
      else if (token.length === this.#open) this.#open = 0;
    }
  }

  /** Takes the backticks before as text: what follows is no code. */
  reset(): void {
    this.#open = 0;
  }

  /** Where the code that is open ends in a text: the index after it; `never`: at the end of a paragraph; undefined: not yet. */
  endIn(text: string): number | 'never' | undefined {
    for (const { index, 0: token } of text.matchAll(tokens)) {
      if (!token.startsWith('`')) return 'never';
      if (token.length === this.#open) return index + token.length;
    }
    return undefined;
  }
}

// A longer run is a fence.
const maxRun = 2;
const tokens = /`+|\n[ \t\r]*\n/g;
