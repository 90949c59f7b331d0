import { parseJsonAt } from '../json/lenientParser.ts';
import { closingTag } from './tags.ts';
import type { JsonValue } from '../json/value.ts';

/** A value and where it stands. */
export interface ParsedObject {
  readonly value: JsonValue;
  readonly start: number;
  readonly end: number;
  /** Whether it had to be read leniently. */
  readonly repaired: boolean;
}

/** A value that could not be read. */
export interface ObjectListError {
  readonly start: number;
  /** Where the strict reading stopped. */
  readonly at: number;
  /** In which reading the text ends inside the value. */
  readonly truncatedIn: 'strict' | 'lenient' | undefined;
}

/** Objects that follow each other, in a list or with nothing but separators between them. */
export interface ObjectList {
  readonly end: number;
  readonly objects: readonly ParsedObject[];
  readonly list: 'none' | 'open' | 'closed';
  readonly error: ObjectListError | undefined;
}

const separators = /[\s,;]*/y;

/** Reads objects one by one, so that a bad one costs only itself and those after it. */
export function parseObjects(text: string, start: number, lenient: boolean): ObjectList {
  const objects: ParsedObject[] = [];
  let list: ObjectList['list'] = text[start] === '[' ? 'open' : 'none';
  let end = start;
  let at = list === 'open' ? skipSeparators(text, start + 1) : start;
  let error: ObjectListError | undefined;
  while (text[at] === '{') {
    const object = parseObjectAt(text, at, lenient);
    if ('truncatedIn' in object) {
      error = object;
      break;
    }
    objects.push(object);
    end = object.end;
    at = skipSeparators(text, end);
  }
  if (list === 'open' && text[at] === ']') [list, end] = ['closed', at + 1];
  return { end, objects, list, error };
}

/** The index of what follows white space, commas and semicolons. */
export function skipSeparators(text: string, at: number): number {
  separators.lastIndex = at;
  separators.test(text);
  return separators.lastIndex;
}

// Where the strict reading stopped, a lenient one goes on at these only.
const lenientHint = new RegExp(`[\\x00-\\x1f'\\\\TFN}\\]]|${closingTag.source}`, 'y');

function needsLenientParsing(text: string, at: number): boolean {
  lenientHint.lastIndex = at;
  return lenientHint.test(text);
}

/** Reads the object at an index, strictly first. */
export function parseObjectAt(text: string, start: number, lenient: boolean): ParsedObject | ObjectListError {
  const strict = parseJsonAt(text, start);
  if (strict.ok) return { value: strict.value, start, end: strict.end, repaired: false };
  const { at, truncated } = strict;
  if (truncated || !lenient || !needsLenientParsing(text, at))
    return { start, at, truncatedIn: truncated ? 'strict' : undefined };
  const repaired = parseJsonAt(text, start, { lenient, closing: closingTag });
  if (repaired.ok) return { value: repaired.value, start, end: repaired.end, repaired: true };
  return { start, at, truncatedIn: repaired.truncated ? 'lenient' : undefined };
}
