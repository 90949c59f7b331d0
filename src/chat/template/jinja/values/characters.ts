// Python's white space: also the separators U+001C to U+001F and U+0085, but not U+FEFF.
const whitespace = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export const isWhitespace = (character: string): boolean => whitespace.test(character);

/** A text without characters of a set at its start. */
export function stripStart(text: string, isStripped: (character: string) => boolean = isWhitespace): string {
  let start = 0;
  while (start < text.length && isStripped(text.charAt(start))) start++;
  return text.slice(start);
}

/** A text without characters of a set at its end. */
export function stripEnd(text: string, isStripped: (character: string) => boolean = isWhitespace): string {
  let end = text.length;
  while (end > 0 && isStripped(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The number of code points of a text. */
export function lengthOf(text: string): number {
  let surrogates = 0;
  for (let index = 0; index < text.length; index++) if ((text.charCodeAt(index) & 0xfc_00) === 0xdc_00) surrogates++;
  return text.length - surrogates;
}

/** Orders texts by code points, as Python does. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  let index = 0;
  while (index < left.length && left.charCodeAt(index) === right.charCodeAt(index)) index++;
  // Back to the start of a code point, whose first halves are equal.
  if (index > 0 && (left.charCodeAt(index - 1) & 0xfc_00) === 0xd8_00) index--;
  return (left.codePointAt(index) ?? -1) - (right.codePointAt(index) ?? -1);
}
