import type { VectorProgress } from '../../graph/retrieval/vectors/storageVectors.ts';

/** Terminal styles (ANSI escape codes). */
export type Colors = ReturnType<typeof colorsFor>;

/** The styles for a stream; they do nothing when it is no terminal or NO_COLOR is set. */
export function colorsFor(stream: { readonly isTTY?: boolean }) {
  const isColored = stream.isTTY === true && !process.env['NO_COLOR'];
  const code =
    (number: number) =>
    (text: string): string =>
      isColored ? `\x1b[${number}m${text}\x1b[0m` : text;
  return { bold: code(1), dim: code(2), warning: code(33) };
}

export const printLine = (line: string): void => void process.stdout.write(`${line}\n`);

/** Writes a value to standard output as a line of JSON that has all keys: programs get null for unknown values. */
export const printComplete = (value: object): void =>
  printLine(JSON.stringify(value, (_, inner: unknown): unknown => inner ?? null));

export function alignColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
}

/** A number with its noun: `1 file`, `2 files`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** A text on one line without control characters: a file of a stranger must not write into the terminal, or into a report. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');

/** The same of a text of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

const intervalMs = 5000;

/** Creates a function that prints to stderr how far vectors are, a line every five seconds. */
export function vectorProgress(): (progress: VectorProgress) => void {
  let printedAt = performance.now();
  return ({ name, done, texts }) => {
    if (performance.now() - printedAt < intervalMs) return;
    printedAt = performance.now();
    process.stderr.write(`  ${name}: ${done} of ${plural(texts, 'vector')}\n`);
  };
}
