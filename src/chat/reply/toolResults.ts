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

/** Whether a text is the mark that opens the result of a call. */
export const opensResult = (text: string): boolean => endOfMatch(openingAt, text, 0) === text.length;

/** Finds the results that a model has invented after a call. Takes time linear in the text. */
export class ToolResults {
  readonly #text: string;
  /** Where the next mark that closes a result starts. */
  #closing = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Index after the results that follow a call, with their marks. The block of the call may end with the first of these.
   * A result that is not closed is JSON, or reaches to the limit.
   */
  skip(block: TextRange, limit: number): number {
    const text = this.#text;
    const last = lastOpening.exec(text.slice(Math.max(block.start, block.end - maxMark), block.end));
    let end = block.end - (last?.[0].length ?? 0);
    for (;;) {
      const start = endOfMatch(openingAt, text, end);
      const next = start === undefined ? endOfMatch(closingAt, text, end) : this.#contentEnd(start, limit);
      if (next === undefined) return Math.max(end, block.end);
      end = next;
    }
  }

  #contentEnd(start: number, limit: number): number {
    if (this.#closing < start) {
      nextClosing.lastIndex = start;
      this.#closing = nextClosing.exec(this.#text)?.index ?? Infinity;
    }
    if (this.#closing < limit) return this.#closing;
    const parsed = parseJsonAt(this.#text, start, { lenient: true });
    return parsed.ok ? parsed.end : limit;
  }
}
