const separators = /[\s,;]*/y;

/** The index of the first character at or after `index` that is no white space, comma or semicolon. */
export function skipSeparators(text: string, index: number): number {
  separators.lastIndex = index;
  separators.test(text);
  return separators.lastIndex;
}
