import { endOfMatch, parseJsonAt, skipWhiteSpace } from './json/lenientParser.ts';
import type { JsonValue } from './json/value.ts';

const openingFence = /\s*(?:`{3,}[\w+-]{0,16}\s*)?/y;
const closingFence = /`{3,}(?!\w)/y;
const backticks = /`*/y;
const backticksOrParagraphEnd = /`+|\n[ \t\r]*\n/g;
const minFenceBackticks = 3;

/** The index after white space and, if there is one, an opening fence with its info string (` ```json `). */
export const skipOpeningFence = (text: string, index: number): number => endOfMatch(openingFence, text, index) ?? index;

/** The index after white space and a closing fence; undefined if there is none. */
export const skipClosingFence = (text: string, index: number): number | undefined =>
  endOfMatch(closingFence, text, skipWhiteSpace(text, index));

/** The JSON that a text consists of, perhaps in a code fence; undefined: the text is another one. */
export function wholeJson(text: string): { readonly value: JsonValue; readonly json: string } | undefined {
  const start = text.startsWith('```') ? skipOpeningFence(text, 0) : 0;
  const parsed = parseJsonAt(text, start);
  if (!parsed.ok) return undefined;
  const end = (start > 0 ? skipClosingFence(text, parsed.end) : undefined) ?? parsed.end;
  return end === text.length ? { value: parsed.value, json: text.slice(start, parsed.end) } : undefined;
}

/** A text without the code fence at its end, where nothing opens or closes it. */
export function withoutOpenFence(text: string): string {
  const fences = [...text.matchAll(/`{3,}/g)];
  const last = fences.length % 2 === 1 ? fences.at(-1) : undefined;
  const isAtEnd = last && /^[\w+-]{0,16}\s*$/.test(text.slice(last.index + last[0].length));
  return text.slice(0, isAtEnd ? last.index : undefined).trimEnd();
}

/**
 * The index after the Markdown code span that starts at an index, where the text has a run of backticks. A code span
 * (one or two backticks) ends at the next run of the same length in its paragraph. Of a fence only the backticks are
 * skipped: models write calls inside of fences, so calls in them count.
 */
export function skipInlineCode(text: string, index: number): number {
  const contentStart = endOfMatch(backticks, text, index) ?? index;
  const runLength = contentStart - index;
  if (runLength >= minFenceBackticks) return contentStart;
  backticksOrParagraphEnd.lastIndex = contentStart;
  let match = backticksOrParagraphEnd.exec(text);
  while (match?.[0].startsWith('`') && match[0].length !== runLength) match = backticksOrParagraphEnd.exec(text);
  if (match?.[0].startsWith('`')) return backticksOrParagraphEnd.lastIndex;
  return match === null && isTruncatedCode(text, contentStart) ? text.length : contentStart;
}

// A code span that the token limit cut off still quotes its content. A stray backtick in prose quotes nothing.
function isTruncatedCode(text: string, contentStart: number): boolean {
  return '<[{'.includes(text[contentStart] ?? ' ') || !text.includes('\n', contentStart);
}
