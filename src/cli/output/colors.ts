/** Colours for a text that goes to a terminal; none where NO_COLOR is set, or where it goes elsewhere. */
export interface Colors {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bad: (text: string) => string;
}

export function colorsFor(stream: { readonly isTTY?: boolean }): Colors {
  const isColored = stream.isTTY === true && !process.env['NO_COLOR'];
  const code =
    (number: number) =>
    (text: string): string =>
      isColored ? `\x1b[${number}m${text}\x1b[0m` : text;
  return { bold: code(1), dim: code(2), bad: code(33) };
}
