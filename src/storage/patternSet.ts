import { RE2JS, RE2JSCompileException, RE2JSSyntaxException, RE2Set } from 're2js';
import { createYielder } from '../eventLoop.ts';
import type { ReadResult, SchemaError } from '../schema.ts';

/** A list of regular expressions, checked in time linear in the text. */
export interface PatternMatcher {
  /**
   * The index of the first pattern, in the order of the list, that matches anywhere in the text.
   * @throws the signal's reason
   */
  match(text: string, signal: AbortSignal): Promise<number | undefined>;
}

// One pass over a text checks a set of patterns, and cannot be left: sets are small, so that others get their turn between
// them. Twenty are near the best: more share hardly any work, and push each other's automata out of memory.
const patternsPerSet = 20;
const totalMemoryBytes = 64 * 1024 * 1024;
const setMemoryBytes = { least: 64 * 1024, most: 8 * 1024 * 1024 };

interface PatternSet {
  readonly first: number;
  readonly set: RE2Set;
}

/** Compiles patterns (RE2 syntax; matched anywhere, case-insensitive, Unicode-aware); refusals point at `/index`. */
export async function compilePatterns(list: readonly string[]): Promise<ReadResult<PatternMatcher>> {
  const breathe = createYielder();
  const bytes = totalMemoryBytes / Math.ceil(list.length / patternsPerSet);
  const memory = Math.min(setMemoryBytes.most, Math.max(setMemoryBytes.least, bytes));
  const readings: ReadResult<readonly PatternSet[]>[] = [];
  for (let first = 0; first < list.length; first += patternsPerSet) {
    readings.push(compileSets(list.slice(first, first + patternsPerSet), first, memory));
    await breathe();
  }
  const reading = combineResults(readings);
  return reading.ok ? { ok: true, value: { match: createMatcher(reading.value) } } : reading;
}

const createMatcher =
  (sets: readonly PatternSet[]): PatternMatcher['match'] =>
  async (text, signal) => {
    const breathe = createYielder();
    for (const { first, set } of sets) {
      const found = set.match(text);
      if (found.length > 0) return first + Math.min(...found);
      await breathe();
      signal.throwIfAborted();
    }
    return undefined;
  };

// As one set, or where that is too large, each as a set of its own.
function compileSets(patterns: readonly string[], first: number, memory: number): ReadResult<readonly PatternSet[]> {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE, memory);
  const errors = patterns.flatMap((pattern, index) => addPattern(set, pattern, first + index));
  if (errors.length > 0) return { ok: false, errors };
  try {
    set.compile();
  } catch (error) {
    if (!(error instanceof RE2JSCompileException)) throw error;
    if (patterns.length === 1) return { ok: false, errors: [patternError(error.message, patterns[0], first)] };
    return combineResults(patterns.map((pattern, index) => compileSets([pattern], first + index, memory)));
  }
  // The automaton is built as it is first used: better now than in front of a waiting user.
  set.match('warm');
  return { ok: true, value: [{ first, set }] };
}

function combineResults<Item>(readings: readonly ReadResult<readonly Item[]>[]): ReadResult<readonly Item[]> {
  const errors = readings.flatMap((reading) => (reading.ok ? [] : reading.errors));
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, value: readings.flatMap((reading) => (reading.ok ? reading.value : [])) };
}

function addPattern(set: RE2Set, pattern: string, index: number): SchemaError[] {
  try {
    set.add(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return [patternError(error.error, pattern, index)];
  }
}

const patternError = (reason: string, pattern: string | undefined, index: number): SchemaError => ({
  pointer: `/${index}`,
  message: `is no pattern that can run in linear time: ${JSON.stringify(pattern)}: ${reason}`,
});
