import { hasJsonType } from '../../../base/jsonTypes.ts';
import type { EnumSource } from '../../tool.ts';

// A longer list fits into no prompt of a small model.
const maxValues = 1000;
const maxCharacters = 32_768;

/** The values of a parameter, or what is wrong with the text that has them: the end of a sentence about it, with a fix. */
export type EnumReading =
  { readonly ok: true; readonly values: readonly unknown[] } | { readonly ok: false; readonly problem: string };

/** Reads the values of a parameter from the text of a variable: a JSON list; equal values count once. */
export function readEnumValues(text: string | undefined, { types }: Pick<EnumSource, 'types'>): EnumReading {
  const fix = `send it with the message as a JSON list of ${types.map((type) => `${type}s`).join(' or ')}`;
  if (text === undefined) return failed(`is missing; ${fix}`);
  if (text.length > maxCharacters)
    return failed(`has ${text.length} characters, and ${maxCharacters} are allowed; send fewer or shorter values`);
  const list = parseList(text);
  if (!list) return failed(`is no JSON list; ${fix}`);
  // Nothing to fix: the game has no value at the moment.
  if (list.length === 0) return failed('is an empty list');
  if (list.length > maxValues)
    return failed(`has ${list.length} values, and ${maxValues} are allowed; send fewer values`);
  for (const [index, value] of list.entries()) {
    const problem = problemOf(value, types);
    if (problem !== undefined) return failed(`has ${describe(value)} at index ${index}, which ${problem}; ${fix}`);
  }
  return { ok: true, values: [...new Set(list)] };
}

const failed = (problem: string): EnumReading => ({ ok: false, problem });

function parseList(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function problemOf(value: unknown, types: EnumSource['types']): string | undefined {
  if (typeof value === 'number' && !isExact(value)) return 'is too large a number to be exact';
  if (!types.some((type) => hasJsonType(value, type))) return `is no ${types.join(' or ')}`;
  return typeof value === 'string' && /\p{Surrogate}/u.test(value) ? 'has half of a surrogate pair' : undefined;
}

const isExact = (value: number): boolean => Math.abs(value) <= Number.MAX_SAFE_INTEGER;

function describe(value: unknown): string {
  // It may be nested deeper than JSON.stringify can follow.
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
