import { RE2JS, RE2JSCompileException, RE2JSSyntaxException, RE2Set } from 're2js';
import { breathing } from '../eventLoop.ts';
import type { Reading, Refusal } from '../schema.ts';

/** A list of regular expressions, checked in time linear in the text. */
export interface Patterns {
  /**
   * The index of the first pattern, in the order of the list, that matches anywhere in the text.
   * @throws the signal's reason
   */
  match(text: string, signal: AbortSignal): Promise<number | undefined>;
}

// One pass over a text checks a set of patterns, and cannot be left: sets are small, so that others get their turn between
// them. Twenty are near the best: more share hardly any work, and push each other's automata out of memory.
const patternsAtOnce = 20;
const bytesOfAll = 64 * 1024 * 1024;
const bytesOfOne = { least: 64 * 1024, most: 8 * 1024 * 1024 };

interface PatternSet {
  readonly first: number;
  readonly set: RE2Set;
}

/** Compiles patterns (RE2 syntax; matched anywhere, case-insensitive, Unicode-aware); refusals point at `/index`. */
export async function compilePatterns(list: readonly string[]): Promise<Reading<Patterns>> {
  const breathe = breathing();
  const bytes = bytesOfAll / Math.ceil(list.length / patternsAtOnce);
  const memory = Math.min(bytesOfOne.most, Math.max(bytesOfOne.least, bytes));
  const readings: Reading<readonly PatternSet[]>[] = [];
  for (let first = 0; first < list.length; first += patternsAtOnce) {
    readings.push(setsOf(list.slice(first, first + patternsAtOnce), first, memory));
    await breathe();
  }
  const reading = together(readings);
  return reading.ok ? { ok: true, value: { match: matching(reading.value) } } : reading;
}

const matching =
  (sets: readonly PatternSet[]): Patterns['match'] =>
  async (text, signal) => {
    const breathe = breathing();
    for (const { first, set } of sets) {
      const found = set.match(text);
      if (found.length > 0) return first + Math.min(...found);
      await breathe();
      signal.throwIfAborted();
    }
    return undefined;
  };

// As one set, or where that is too large, each as a set of its own.
function setsOf(patterns: readonly string[], first: number, memory: number): Reading<readonly PatternSet[]> {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE, memory);
  const refusals = patterns.flatMap((pattern, index) => addTo(set, pattern, first + index));
  if (refusals.length > 0) return { ok: false, refusals };
  try {
    set.compile();
  } catch (error) {
    if (!(error instanceof RE2JSCompileException)) throw error;
    if (patterns.length === 1) return { ok: false, refusals: [refusalOf(error.message, patterns[0], first)] };
    return together(patterns.map((pattern, index) => setsOf([pattern], first + index, memory)));
  }
  // The automaton is built as it is first used: better now than in front of a waiting user.
  set.match('warm');
  return { ok: true, value: [{ first, set }] };
}

function together<Item>(readings: readonly Reading<readonly Item[]>[]): Reading<readonly Item[]> {
  const refusals = readings.flatMap((reading) => (reading.ok ? [] : reading.refusals));
  if (refusals.length > 0) return { ok: false, refusals };
  return { ok: true, value: readings.flatMap((reading) => (reading.ok ? reading.value : [])) };
}

function addTo(set: RE2Set, pattern: string, index: number): Refusal[] {
  try {
    set.add(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return [refusalOf(error.error, pattern, index)];
  }
}

const refusalOf = (reason: string, pattern: string | undefined, index: number): Refusal => ({
  pointer: `/${index}`,
  message: `is no pattern that can run in linear time: ${JSON.stringify(pattern)}: ${reason}`,
});
