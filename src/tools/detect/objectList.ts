import { readValue } from '../json/lenientParser.ts';
import { closingTag } from './tags.ts';
import type { Value } from '../json/value.ts';

/** A value and where it stands. */
export interface Placed {
  readonly value: Value;
  readonly start: number;
  readonly end: number;
  /** Whether it had to be read leniently. */
  readonly repaired: boolean;
}

/** A value that could not be read. */
export interface Fault {
  readonly start: number;
  /** Where the strict reading stopped. */
  readonly at: number;
  /** In which reading the text ends inside the value. */
  readonly cutIn: 'strict' | 'lenient' | undefined;
}

/** Objects that follow each other, in a list or with nothing but separators between them. */
export interface Run {
  readonly end: number;
  readonly objects: readonly Placed[];
  readonly list: 'none' | 'open' | 'closed';
  readonly fault: Fault | undefined;
}

const separators = /[\s,;]*/y;

/** Reads objects one by one, so that a bad one costs only itself and those after it. */
export function readRun(text: string, start: number, lenient: boolean): Run {
  const objects: Placed[] = [];
  let list: Run['list'] = text[start] === '[' ? 'open' : 'none';
  let end = start;
  let at = list === 'open' ? pastSeparators(text, start + 1) : start;
  let fault: Fault | undefined;
  while (text[at] === '{') {
    const object = readObject(text, at, lenient);
    if ('cutIn' in object) {
      fault = object;
      break;
    }
    objects.push(object);
    end = object.end;
    at = pastSeparators(text, end);
  }
  if (list === 'open' && text[at] === ']') [list, end] = ['closed', at + 1];
  return { end, objects, list, fault };
}

/** The index of what follows white space, commas and semicolons. */
export function pastSeparators(text: string, at: number): number {
  separators.lastIndex = at;
  separators.test(text);
  return separators.lastIndex;
}

// Where the strict reading stopped, a lenient one goes on at these only.
const lenientMark = new RegExp(`[\\x00-\\x1f'\\\\TFN}\\]]|${closingTag.source}`, 'y');

function helpsLeniency(text: string, at: number): boolean {
  lenientMark.lastIndex = at;
  return lenientMark.test(text);
}

/** Reads the object at an index, strictly first. */
export function readObject(text: string, start: number, lenient: boolean): Placed | Fault {
  const strict = readValue(text, start);
  if (strict.ok) return { value: strict.value, start, end: strict.end, repaired: false };
  const { at, cut } = strict;
  if (cut || !lenient || !helpsLeniency(text, at)) return { start, at, cutIn: cut ? 'strict' : undefined };
  const repaired = readValue(text, start, { lenient, closing: closingTag });
  if (repaired.ok) return { value: repaired.value, start, end: repaired.end, repaired: true };
  return { start, at, cutIn: repaired.cut ? 'lenient' : undefined };
}
