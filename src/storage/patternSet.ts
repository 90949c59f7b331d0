import { RE2JS, RE2JSCompileException, RE2JSSyntaxException, RE2Set } from 're2js';
import { createYielder } from '../eventLoop.ts';
import type { ReadResult, SchemaError } from '../schema.ts';

/** Compiled regular expressions (RE2), matched in time linear in the text: there is no catastrophic backtracking. */
export interface PatternMatcher {
  /**
   * The index of the first pattern, in the order of the list, that matches anywhere in the text; undefined when none does.
   * @throws the signal's reason when it is aborted.
   */
  match(text: string, signal: AbortSignal): Promise<number | undefined>;
}

// One synchronous pass over the text matches all patterns of a set. Sets are small, so that the event loop runs between
// them. Twenty patterns are near the fastest: in larger sets the patterns share hardly any work, and evict each other's
// automaton states from the memory of the set.
const patternsPerSet = 20;
const totalMemoryBytes = 64 * 1024 * 1024;
const minSetMemoryBytes = 64 * 1024;
const maxSetMemoryBytes = 8 * 1024 * 1024;

interface PatternSet {
  /** Index of its first pattern in the whole list. */
  readonly offset: number;
  readonly set: RE2Set;
}

/** Compiles patterns (RE2 syntax; matched anywhere, case-insensitive, Unicode-aware). Errors have the pointer `/index`. */
export async function compilePatterns(list: readonly string[]): Promise<ReadResult<PatternMatcher>> {
  const yieldToOthers = createYielder();
  const evenShareBytes = totalMemoryBytes / Math.ceil(list.length / patternsPerSet);
  const memoryBytes = Math.min(maxSetMemoryBytes, Math.max(minSetMemoryBytes, evenShareBytes));
  const results: ReadResult<readonly PatternSet[]>[] = [];
  for (let offset = 0; offset < list.length; offset += patternsPerSet) {
    results.push(compileSets(list.slice(offset, offset + patternsPerSet), offset, memoryBytes));
    await yieldToOthers();
  }
  const result = combineResults(results);
  return result.ok ? { ok: true, value: { match: createMatcher(result.value) } } : result;
}

const createMatcher =
  (sets: readonly PatternSet[]): PatternMatcher['match'] =>
  async (text, signal) => {
    const yieldToOthers = createYielder();
    for (const { offset, set } of sets) {
      const matches = set.match(text);
      if (matches.length > 0) return offset + Math.min(...matches);
      await yieldToOthers();
      signal.throwIfAborted();
    }
    return undefined;
  };

// Compiles patterns into one set, or into a set each when one is too large for the memory.
function compileSets(
  patterns: readonly string[],
  offset: number,
  memoryBytes: number,
): ReadResult<readonly PatternSet[]> {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE, memoryBytes);
  const errors = patterns.flatMap((pattern, index) => addPattern(set, pattern, offset + index));
  if (errors.length > 0) return { ok: false, errors };
  try {
    set.compile();
  } catch (error) {
    if (!(error instanceof RE2JSCompileException)) throw error;
    if (patterns.length === 1) return { ok: false, errors: [patternError(error.message, patterns[0], offset)] };
    return combineResults(patterns.map((pattern, index) => compileSets([pattern], offset + index, memoryBytes)));
  }
  // RE2 builds the automaton at the first match: do it now, not during the first turn.
  set.match('warm-up');
  return { ok: true, value: [{ offset, set }] };
}

function combineResults<Item>(results: readonly ReadResult<readonly Item[]>[]): ReadResult<readonly Item[]> {
  const errors = results.flatMap((result) => (result.ok ? [] : result.errors));
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, value: results.flatMap((result) => (result.ok ? result.value : [])) };
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
