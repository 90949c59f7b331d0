import { endOfMatch, parseJsonAt } from '../json/lenientParser.ts';
import type { TextRange } from '../markSearch.ts';

const result = '(?:tool|TOOL)[_▁](?:responses?|results?|outputs?|RESULTS?)';
const opening = `\\s{0,40}[<[](?:${result}|[|｜]${result}(?:[_▁](?:start|begin))?[|｜]?)[>\\]]`;
const closing = `\\s{0,40}[<[](?:/${result}|${result}\\||[|｜](?:/${result}|${result}[_▁]end)[|｜]?)[>\\]]`;
const lastOpening = new RegExp(`${opening}\\s{0,40}$`);
const openingAt = new RegExp(opening, 'y');
const closingAt = new RegExp(closing, 'y');
const nextClosing = new RegExp(closing, 'g');
const maxMark = 128;

export const opensResult = (text: string): boolean => endOfMatch(openingAt, text, 0) === text.length;

/**
 * Finds the results that a model has invented after a call: the index after them, with their marks. The block of the
 * call may end with the first of these. A result that is not closed is JSON, or reaches to the limit. Takes time linear
 * in the text.
 */
export function resultSkipper(text: string): (block: TextRange, limit: number) => number {
  // Where the next mark that closes a result starts.
  let closingStart = 0;
  const contentEnd = (start: number, limit: number): number => {
    nextClosing.lastIndex = start;
    if (closingStart < start) closingStart = nextClosing.exec(text)?.index ?? Infinity;
    if (closingStart < limit) return closingStart;
    const parsed = parseJsonAt(text, start, { lenient: true });
    return parsed.ok ? parsed.end : limit;
  };
  return (block, limit) => {
    const last = lastOpening.exec(text.slice(Math.max(block.start, block.end - maxMark), block.end));
    let end = block.end - (last?.[0].length ?? 0);
    for (;;) {
      const start = endOfMatch(openingAt, text, end);
      const next = start === undefined ? endOfMatch(closingAt, text, end) : contentEnd(start, limit);
      if (next === undefined) return Math.max(end, block.end);
      end = next;
    }
  };
}
