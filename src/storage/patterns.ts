import { RE2JS, RE2JSSyntaxException, RE2Set } from 're2js';
import type { Reading, Refusal } from '../schema.ts';

/** A set of regular expressions that one pass over a text checks, in time linear in the text. */
export interface Patterns {
  readonly size: number;
  /** The index of the first pattern, in the order of the list, that matches anywhere in the text. */
  match(text: string): number | undefined;
}

/** Compiles patterns (RE2 syntax; matched anywhere, case-insensitive, Unicode-aware); refusals point at `/index`. */
export function compilePatterns(list: readonly string[]): Reading<Patterns> {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  const refusals = list.flatMap((pattern, index) => addTo(set, pattern, index));
  if (refusals.length > 0) return { ok: false, refusals };
  set.compile();
  // The automaton is built as it is first used: better now than in front of a waiting user.
  set.match('warm');
  const match = (text: string): number | undefined =>
    list.length === 0 ? undefined : set.match(text).sort(ascending)[0];
  return { ok: true, value: { size: list.length, match } };
}

const ascending = (a: number, b: number): number => a - b;

function addTo(set: RE2Set, pattern: string, index: number): Refusal[] {
  try {
    set.add(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const message = `is no pattern that can run in linear time: ${JSON.stringify(pattern)}: ${error.error}`;
    return [{ pointer: `/${index}`, message }];
  }
}
