import type { StepBudget } from '../stepBudget.ts';

// Python's white space: also the separators U+001C to U+001F and U+0085, but not U+FEFF.
const whitespace = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export const isWhitespace = (character: string): boolean => whitespace.test(character);

export function stripStart(text: string, isStripped: (character: string) => boolean = isWhitespace): string {
  let start = 0;
  while (start < text.length && isStripped(text.charAt(start))) start++;
  return text.slice(start);
}

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

/** Splits as Python's `split(separator)`; "" splits between all characters. @param maxSplits at most so often. */
export function splitText(text: string, separator: string, maxSplits: number, budget: StepBudget): string[] {
  budget.spendSearch(text.length, separator.length);
  const parts: string[] = [];
  let start = 0;
  if (separator === '') {
    if (maxSplits <= 0) return [text];
    const characters = ['', ...text, ''];
    budget.spendList(characters.length);
    return characters.length - 1 <= maxSplits
      ? characters
      : [...characters.slice(0, maxSplits), characters.slice(maxSplits).join('')];
  }
  for (let at = text.indexOf(separator); at >= 0 && parts.length < maxSplits; at = text.indexOf(separator, start)) {
    parts.push(text.slice(start, at));
    start = at + separator.length;
    budget.spend(1);
  }
  return [...parts, text.slice(start)];
}

/** The words of a text, as Python's `split()`. @param maxSplits at most so often; negative: from the end. */
export function splitWhitespace(text: string, maxSplits: number): string[] {
  const words: { readonly start: number; readonly end: number }[] = [];
  for (let start = 0; start < text.length;) {
    let end = start;
    while (end < text.length && !isWhitespace(text.charAt(end))) end++;
    if (end > start) words.push({ start, end });
    start = end + 1;
  }
  const all = words.map(({ start, end }) => text.slice(start, end));
  const count = Math.abs(maxSplits);
  if (all.length <= count) return all;
  // The rest keeps the white space at its outer end.
  if (maxSplits < 0 || Object.is(maxSplits, -0))
    return [text.slice(0, words.at(-count - 1)?.end), ...all.slice(all.length - count)];
  return [...all.slice(0, count), text.slice(words[count]?.start)];
}

/** The lines of a text, as Python's `splitlines`. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g)) {
    lines.push(text.slice(start, keepEnds ? index + end.length : index));
    start = index + end.length;
  }
  return start < text.length ? [...lines, text.slice(start)] : lines;
}
