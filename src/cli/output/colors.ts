/** Terminal styles (ANSI escape codes). */
export interface Colors {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly warning: (text: string) => string;
}

/** The styles for a stream; they do nothing when it is no terminal or NO_COLOR is set. */
export function colorsFor(stream: { readonly isTTY?: boolean }): Colors {
  const isColored = stream.isTTY === true && !process.env['NO_COLOR'];
  const code =
    (number: number) =>
    (text: string): string =>
      isColored ? `\x1b[${number}m${text}\x1b[0m` : text;
  return { bold: code(1), dim: code(2), warning: code(33) };
}
