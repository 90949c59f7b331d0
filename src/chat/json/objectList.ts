import { endOfMatch, parseJsonAt, skipSeparators } from './lenientParser.ts';
import type { TextRange } from '../markSearch.ts';
import type { JsonValue } from './value.ts';

/** A parsed JSON value and its range in the text; `end` is exclusive. */
export interface ParsedObject extends TextRange {
  readonly value: JsonValue;
  /** Whether only the lenient parser could read it. */
  readonly repaired: boolean;
}

/** A value that neither parser could read. */
export interface ObjectListError {
  readonly start: number;
  /** Index at which the strict parser stopped. */
  readonly failedAt: number;
  /** Which parser reached the end of the text inside the value; undefined: the value is malformed, not truncated. */
  readonly truncatedIn: 'strict' | 'lenient' | undefined;
}

/** Consecutive JSON objects, in a list or with only separators between them. */
export interface ObjectList {
  /** Index after the last object, or after the closing bracket. */
  readonly end: number;
  readonly objects: readonly ParsedObject[];
  /** Whether the objects are in brackets, and whether these were closed. */
  readonly list: 'none' | 'open' | 'closed';
  /** The object at which parsing stopped, if it could not be read. */
  readonly error: ObjectListError | undefined;
}

/** Parses objects up to the first malformed one. @param closing tags that may follow; undefined: strictly only. */
export function parseObjects(text: string, start: number, closing: RegExp | undefined): ObjectList {
  const objects: ParsedObject[] = [];
  let list: ObjectList['list'] = text[start] === '[' ? 'open' : 'none';
  let end = start;
  let nextStart = list === 'open' ? skipSeparators(text, start + 1) : start;
  let error: ObjectListError | undefined;
  while (text[nextStart] === '{') {
    const object = parseObjectAt(text, nextStart, closing);
    if ('truncatedIn' in object) {
      error = object;
      break;
    }
    objects.push(object);
    end = object.end;
    nextStart = skipSeparators(text, end);
  }
  if (list === 'open' && text[nextStart] === ']') [list, end] = ['closed', nextStart + 1];
  return { end, objects, list, error };
}

// The lenient parser accepts more than the strict one only where the strict one stopped at one of these.
const repairable = /[\x00-\x1f'\\TFN}\]]/y;

/** Parses an object, strictly, then leniently. @param closing tags that may follow; undefined: strictly only. */
export function parseObjectAt(
  text: string,
  start: number,
  closing: RegExp | undefined,
): ParsedObject | ObjectListError {
  const strict = parseJsonAt(text, start);
  if (strict.ok) return { value: strict.value, start, end: strict.end, repaired: false };
  const { failedAt, truncated } = strict;
  if (
    truncated ||
    !closing ||
    ![repairable, closing].some((pattern) => endOfMatch(pattern, text, failedAt) !== undefined)
  )
    return { start, failedAt, truncatedIn: truncated ? 'strict' : undefined };
  const repaired = parseJsonAt(text, start, { lenient: true, closing });
  if (repaired.ok) return { value: repaired.value, start, end: repaired.end, repaired: true };
  return { start, failedAt, truncatedIn: repaired.truncated ? 'lenient' : undefined };
}
