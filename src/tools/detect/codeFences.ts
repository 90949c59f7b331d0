const openingFence = /\s*(?:`{3,}[\w+-]{0,16}\s*)?/y;
const closingFence = /\s*`{3,}(?!\w)/y;
const maxFenceWordLength = 16;

/** The index after white space and an opening fence, where one stands at an index. */
export function skipOpeningFence(text: string, at: number): number {
  openingFence.lastIndex = at;
  openingFence.test(text);
  return openingFence.lastIndex;
}

/** The index after the closing fence at an index, if one stands there. */
export function skipClosingFence(text: string, at: number): number | undefined {
  closingFence.lastIndex = at;
  return closingFence.test(text) ? closingFence.lastIndex : undefined;
}

/** Where the opening fence starts that stands right before an index, if one does. */
export function openingFenceBefore(text: string, at: number): number | undefined {
  const trimmed = text.slice(0, at).trimEnd();
  let start = trimmed.length;
  while (start > trimmed.length - maxFenceWordLength && /[\w+-]/.test(trimmed[start - 1] ?? '')) start--;
  const word = start;
  while (trimmed[start - 1] === '`') start--;
  return word - start >= 3 ? start : undefined;
}
