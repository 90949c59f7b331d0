// More than any check asks for: the longest text of one has a few megabytes.
const maxLineCharacters = 16 * 1024 * 1024;
const maxLines = 100_000;

/** Splits the output of a program into lines, and stops where it floods the reader. */
export class OutputLines {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #pieces: string[] = [];
  #length = 0;
  #lines = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Takes a piece of the output. Returns why no more of it should be read; undefined: go on. */
  push(data: Uint8Array): string | undefined {
    const [first = '', ...others] = this.#decoder.decode(data, { stream: true }).split('\n');
    this.#add(first);
    for (const piece of others) {
      this.#endLine();
      this.#add(piece);
      if (this.#lines > maxLines) return `more than ${maxLines} lines`;
    }
    return this.#length > maxLineCharacters ? `a line of more than ${maxLineCharacters} characters` : undefined;
  }

  /** The output has ended: the last line may have no end. */
  end(): void {
    if (this.#length > 0) this.#endLine();
  }

  #add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  #endLine(): void {
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#lines++;
    this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}
