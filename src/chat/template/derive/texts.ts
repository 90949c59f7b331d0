import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { lexemes } from '../../dialect/layout.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import { canonicalJson } from '../../json/value.ts';
import type { TextRange } from '../../markSearch.ts';

/** The longest text of whole lexemes with which both texts start. */
export function commonStart(a: string, b: string): string {
  const inA = lexemes(a);
  return inA.slice(0, commonPrefixLength(inA, lexemes(b))).join('');
}

/** The longest text of whole lexemes with which both texts end. */
export function commonEnd(a: string, b: string): string {
  const inA = lexemes(a).toReversed();
  return inA
    .slice(0, commonPrefixLength(inA, lexemes(b).toReversed()))
    .toReversed()
    .join('');
}

/** A text without another one with which it ends. */
export const withoutEnd = (text: string, end: string): string =>
  end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text;

/**
 * The marks of a list of two items: `open item.open ... item.close separator item.open ... item.close close`. White space at
 * an item's outer edge is the list's or the separator's.
 */
export function deriveListMarks(before: string, between: string, after: string) {
  const itemOpen = commonEnd(before, between).trimStart();
  const rest = withoutEnd(between, itemOpen);
  const itemClose = commonStart(rest, after).trimEnd();
  return {
    open: withoutEnd(before, itemOpen),
    item: { open: itemOpen, close: itemClose },
    separator: rest.slice(itemClose.length),
    close: after.slice(itemClose.length),
  };
}

/** JSON with sorted keys and with numbers as they are written. */
export const sortedJson = (value: unknown): string => canonicalJson(value, ({ digits }) => digits);

/** The first place of a text at or after an index. */
export function locateText(text: string, wanted: string, from: number): TextRange | undefined {
  const start = text.indexOf(wanted, from);
  return start < 0 ? undefined : { start, end: start + wanted.length };
}

/** The first JSON object at or after an index that equals `value`, its keys in any order. */
export function locateJson(text: string, value: unknown, from: number): TextRange | undefined {
  const wanted = sortedJson(value);
  for (let start = text.indexOf('{', from); start >= 0; start = text.indexOf('{', start + 1)) {
    const parsed = parseJsonAt(text, start);
    if (parsed.ok && sortedJson(parsed.value) === wanted) return { start, end: parsed.end };
  }
  return undefined;
}
