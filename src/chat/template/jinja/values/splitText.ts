import type { StepBudget } from '../stepBudget.ts';
import { isWhitespace } from './characters.ts';

/**
 * The parts of a text between a separator; an empty one is between all characters, and at both ends.
 * @param maxSplits splits after which the rest is one part.
 */
export function splitText(text: string, separator: string, maxSplits: number, budget: StepBudget): string[] {
  budget.spend(1 + text.length / 16);
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

/**
 * The words of a text, as Python's `split()`.
 * @param maxSplits splits after which the rest is one part; negative: from the end.
 */
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
