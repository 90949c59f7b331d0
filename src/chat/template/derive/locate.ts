import { JsonNumber, membersOf } from '../../json/value.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';

/** JSON of a parsed value or of plain data, with sorted keys: equal values have equal texts. */
export function sortedJson(value: unknown): string {
  if (value instanceof JsonNumber) return value.digits;
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = membersOf(value).map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`);
  return `{${members.sort().join()}}`;
}

/** A range of a text, `end` exclusive. */
export interface LocatedText {
  readonly start: number;
  readonly end: number;
}

/** The first place of a text at or after an index. */
export function locateText(text: string, wanted: string, from: number): LocatedText | undefined {
  const start = text.indexOf(wanted, from);
  return start < 0 ? undefined : { start, end: start + wanted.length };
}

/** The first JSON object at or after an index that equals `value`, its keys in any order. */
export function locateJson(text: string, value: unknown, from: number): LocatedText | undefined {
  const wanted = sortedJson(value);
  for (let start = text.indexOf('{', from); start >= 0; start = text.indexOf('{', start + 1)) {
    const parsed = parseJsonAt(text, start);
    if (parsed.ok && sortedJson(parsed.value) === wanted) return { start, end: parsed.end };
  }
  return undefined;
}
