import { endOfMatch, parseJsonAt } from '../../json/lenientParser.ts';
import type { TextRange } from '../marks.ts';
import type { JsonValue } from '../../json/value.ts';

/** A part of a text that looks like a JSON object or a list, however malformed; `end` is exclusive. */
export interface LooseJson extends TextRange {
  readonly kind: 'json';
  /** The value, where it is well-formed, perhaps with single quotes and the like; undefined: it is not. */
  readonly value: JsonValue | undefined;
  /** What ends it before it is closed; undefined: it is closed, or prose follows. */
  readonly cutOffBy: 'the end of the text' | 'a mark' | undefined;
  /** Whether its opening brace is not there. */
  readonly lacksBrace: boolean;
}

const jsonStart =
  /\{\s*(?:["'“}]|$|[A-Za-z_]{1,32}["']?\s*:|\{\s*["'{])|\[\s*(?:\{\s*(?:["'“}]|$|[A-Za-z_])|["'\]]|$)/y;

/** Whether JSON starts at a bracket in a text that is no JSON. */
export const isJsonStart = (text: string, index: number): boolean => endOfMatch(jsonStart, text, index) !== undefined;

const keyWords = 'name|tool|function|arguments|parameters|args|input|tool_calls?|function_call';
const quotedKey = new RegExp(`["'“](?:${keyWords})["'”]?\\s*:\\s*["'“{[\\w]`, 'y');
const keyBeforeQuote = new RegExp(`(?:${keyWords})$`);
const closedKey = /["'”]\s*:\s*["'“{[]/y;
const maxKeyLength = 16;

/** Where the key of a call stands at a quote outside of JSON, as its brace is lost: index of the key; undefined: none does. */
export function keyWithoutBraceAt(text: string, quote: number): number | undefined {
  if (endOfMatch(quotedKey, text, quote) !== undefined) return quote;
  if (endOfMatch(closedKey, text, quote) === undefined) return undefined;
  const word = keyBeforeQuote.exec(text.slice(Math.max(0, quote - maxKeyLength), quote))?.[0];
  return word === undefined ? undefined : quote - word.length;
}

/** Whether what looks like JSON from an index on has no opening brace. */
export const lacksBrace = (text: string, start: number): boolean => !'{['.includes(text[start] ?? ' ');

/** What looks like JSON from one index to another; `isClosed`: its last bracket is there. */
export function readLooseJson(text: string, start: number, end: number, isClosed: boolean): LooseJson {
  const isKey = lacksBrace(text, start);
  const loose = { kind: 'json', start, end, value: undefined, cutOffBy: undefined, lacksBrace: isKey } as const;
  const isLast = !isClosed && end === text.length;
  if (isKey) return isLast ? { ...loose, cutOffBy: 'the end of the text' } : loose;
  if (!isClosed && !isLast) return { ...loose, cutOffBy: 'a mark' };
  const parsed = parseJsonAt(text, start, { lenient: true });
  if (parsed.ok && parsed.end === end) return { ...loose, value: parsed.value };
  if (isClosed) return loose;
  const failedAt = parsed.ok ? parsed.end : parsed.failedAt;
  const isCutOff = (!parsed.ok && parsed.truncated) || text.slice(failedAt).trim() === '';
  return isCutOff ? { ...loose, cutOffBy: 'the end of the text' } : { ...loose, end: lastStructure(text, failedAt) };
}

const structure = /["'}\]]\s*[,:}\]]|[{}[\]]/g;

/** Index after the last character of a text that JSON is made of; `from`: it has none from there on. */
export function structureEnd(text: string, from: number): number {
  let last = from;
  structure.lastIndex = last;
  while (structure.test(text)) last = structure.lastIndex;
  return last;
}

/** Index after malformed JSON; what follows is prose. */
function lastStructure(text: string, failedAt: number): number {
  let last = structureEnd(text, failedAt);
  while (/\s/.test(text[last - 1] ?? '')) last--;
  // Prose may follow a closing bracket; after anything else, the line is a part of it.
  if ('}]'.includes(text[last - 1] ?? ' ')) return last;
  const lineEnd = text.indexOf('\n', last);
  return lineEnd < 0 ? text.length : lineEnd;
}
