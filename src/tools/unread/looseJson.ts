import { parseJsonAt } from '../json/lenientParser.ts';
import type { JsonValue } from '../json/value.ts';

/** A part of a text that looks like a JSON object or a list, however malformed; `end` is exclusive. */
export interface LooseJson {
  readonly kind: 'json';
  readonly start: number;
  readonly end: number;
  /** The value, where it is well-formed, perhaps with single quotes and the like; undefined: it is not. */
  readonly value: JsonValue | undefined;
  /** Whether the end of the text cuts it off. */
  readonly isCutOff: boolean;
  /** Whether its opening brace is not there. */
  readonly isHeadless: boolean;
}

const objectStart = /\{\s*(?:["'“}]|$|[A-Za-z_]{1,32}["']?\s*:|\{\s*["'{])/y;
const listStart = /\[\s*(?:\{\s*(?:["'“}]|$|[A-Za-z_])|["'\]]|$)/y;

/** Whether JSON starts at a bracket in a text that is no JSON. */
export const isJsonStart = (text: string, index: number): boolean =>
  matchesAt(text[index] === '{' ? objectStart : listStart, text, index);

const keyWords = 'name|tool|function|arguments|parameters|args|input|tool_calls?|function_call';
const quotedKey = new RegExp(`["'“](?:${keyWords})["'”]?\\s*:\\s*["'“{[]`, 'y');
const keyBeforeQuote = new RegExp(`(?<![\\w-])(?:${keyWords})$`);
const closedKey = /["'”]\s*:\s*["'“{[]/y;
const maxKeyLength = 16;

/** Where the key of a call stands at a quote outside of JSON, as its brace is lost: index of the key; undefined: none does. */
export function headlessKeyAt(text: string, quote: number): number | undefined {
  if (matchesAt(quotedKey, text, quote)) return quote;
  if (!matchesAt(closedKey, text, quote)) return undefined;
  const word = keyBeforeQuote.exec(text.slice(Math.max(0, quote - maxKeyLength), quote))?.[0];
  return word === undefined ? undefined : quote - word.length;
}

/** What looks like JSON from one index to another; `isClosed`: its last bracket is there. */
export function readLooseJson(text: string, start: number, end: number, isClosed: boolean): LooseJson {
  const isHeadless = !'{['.includes(text[start] ?? ' ');
  if (isHeadless) {
    return { kind: 'json', start, end, value: undefined, isCutOff: !isClosed && end === text.length, isHeadless };
  }
  if (!isClosed && end < text.length)
    return { kind: 'json', start, end, value: undefined, isCutOff: false, isHeadless };
  const parsed = parseJsonAt(text, start, { lenient: true });
  const value = parsed.ok && parsed.end === end ? parsed.value : undefined;
  if (isClosed || value !== undefined) return { kind: 'json', start, end, value, isCutOff: false, isHeadless };
  const failedAt = parsed.ok ? parsed.end : parsed.failedAt;
  const isCutOff = (!parsed.ok && parsed.truncated) || text.slice(failedAt).trim() === '';
  const loose = { kind: 'json', start, value, isCutOff, isHeadless } as const;
  return { ...loose, end: isCutOff ? end : lastStructure(text, failedAt) };
}

const structure = /["'}\]]\s*[,:}\]]|[{}[\]]/g;

/** Index after the last character of a malformed text that JSON is made of; what follows is prose. */
function lastStructure(text: string, failedAt: number): number {
  let last = failedAt;
  structure.lastIndex = last;
  while (structure.test(text)) last = structure.lastIndex;
  return last;
}

function matchesAt(pattern: RegExp, text: string, index: number): boolean {
  pattern.lastIndex = index;
  return pattern.test(text);
}
