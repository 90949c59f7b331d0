/** A text on one line without control characters: a file of a stranger must not write into the terminal, or into a report. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');

/** The same of a text of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');
