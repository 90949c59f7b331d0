const [quote, backslash, lineFeed] = [0x22, 0x5c, 0x0a];

/** Index of the closing quote of a string, or of the line feed or the end of the text before it. */
export function closingQuoteOrLineEnd(text: string, contentStart: number): number {
  for (let index = contentStart; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote || code === lineFeed) return index;
    if (code === backslash) index++;
  }
  return text.length;
}
