import { closingQuoteOrLineEnd } from '../json/lenientParser.ts';

/** A bracket that is not closed yet. */
export interface OpenBracket {
  readonly start: number;
  readonly closer: '}' | ']';
  /** Whether what follows looks like JSON. In prose a quote opens no string. */
  readonly isJson: boolean;
}

/** The brackets of a text that are open, as a scan goes over it in one pass. */
export class OpenBrackets {
  readonly #text: string;
  #stack: OpenBracket[] = [];
  readonly #countByCloser = { '}': 0, ']': 0 };
  /** Quotes before this index open no string: their line has no closing quote. Remembered, to stay linear in time. */
  #noStringBefore = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Whether the innermost open bracket looks like JSON. */
  get inJson(): boolean {
    return this.#stack.at(-1)?.isJson ?? false;
  }

  /** How many brackets are open. */
  get depth(): number {
    return this.#stack.length;
  }

  /** Start of the outermost open bracket. */
  get start(): number {
    return this.#stack[0]?.start ?? 0;
  }

  /** Start of the outermost open object that looks like JSON. */
  get jsonObject(): number | undefined {
    return this.#stack.find(({ closer, isJson }) => closer === '}' && isJson)?.start;
  }

  /** Adds a bracket; a start that is none stands for an opening brace that is lost. */
  open(start: number, isJson: boolean): void {
    const closer = this.#text[start] === '[' ? ']' : '}';
    this.#stack.push({ start, closer, isJson });
    this.#countByCloser[closer]++;
  }

  /** Removes the innermost bracket with this closer, and the unclosed ones inside of it. */
  close(closer: OpenBracket['closer']): OpenBracket | undefined {
    // The count spares a search of the whole stack for a closer without an opener.
    if (this.#countByCloser[closer] === 0) return undefined;
    let opener = this.#stack.pop();
    while (opener !== undefined && opener.closer !== closer) {
      this.#countByCloser[opener.closer]--;
      opener = this.#stack.pop();
    }
    this.#countByCloser[closer]--;
    return opener;
  }

  /** Leaves all brackets; quotes before an index open no string any more. */
  clear(noStringBefore = 0): void {
    this.#stack = [];
    this.#countByCloser['}'] = this.#countByCloser[']'] = 0;
    this.#noStringBefore = Math.max(this.#noStringBefore, noStringBefore);
  }

  /** Index of the quote that closes the string which a quote opens, or of the end of the text; undefined: it opens none. */
  stringEnd(quote: number): number | undefined {
    if (quote < this.#noStringBefore) return undefined;
    const end = closingQuoteOrLineEnd(this.#text, quote + 1);
    if (this.#text[end] === '"') return end;
    this.#noStringBefore = end;
    return end === this.#text.length ? end : undefined;
  }
}
