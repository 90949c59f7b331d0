import { RE2JS, RE2JSCompileException, RE2JSSyntaxException, RE2Set } from 're2js';
import { createYielder, runChunk } from '../../base/eventLoop.ts';
import { foldLookAlikes, foldText, withoutAccents } from '../../base/foldText.ts';
import { estimatePatternSize } from '../../base/patterns.ts';
import type { ReadResult, SchemaError } from '../../protocol/schema.ts';
import { maxProblems } from './invalidStorage.ts';
import { PatternAutomaton } from './patternAutomaton.ts';
import { classReadingSize, translatePattern, UntranslatablePattern } from './patternTranslation.ts';

/** Compiled regular expressions (RE2), matched in time linear in the text: there is no catastrophic backtracking. */
export interface PatternMatcher {
  /**
   * The index of the first pattern of the list that matches anywhere in the text, if any.
   * @param found gets the indexes of all patterns that match; absent: the first one suffices.
   * @throws the signal's reason.
   */
  match(text: string, signal: AbortSignal | undefined, found?: Set<number>): Promise<number | undefined>;
  /** Indexes of the patterns that match every text, such as `x*`. */
  readonly matchAll: readonly number[];
  /** About what they take in memory. */
  readonly bytes: number;
}

// Compiling cannot be interrupted. Of 1,000 characters, with counted repetitions written out, it takes 5 ms for letters and
// 40 ms for classes such as `\w`: at most a second for a pattern.
const maxPatternLength = 16_384;
const maxPatternSize = 20_000;
// Of all patterns of a list: about 400 bytes each, so 120 MB.
const maxTotalSize = 300_000;
// At least, of a character with its repetitions written out.
const bytesPerSize = 64;
// `\w` has hundreds of ranges of characters, which are looked at for each instruction.
const wordSize = 5;
const sizeOf = (pattern: string): number => estimatePatternSize(pattern, wordSize) + classReadingSize(pattern);

// One synchronous pass over the text matches all patterns of a set. Sets are small, so that the event loop runs between
// them. Twenty patterns are near the fastest: in larger sets the patterns share hardly any work, and evict each other's
// automaton states from the memory of the set.
const patternsPerSet = 20;
const maxSetSize = 5000;
// In re2js's own account; the process takes about twice as much.
const totalMemoryBytes = 16 * 1024 * 1024;
const minSetMemoryBytes = 64 * 1024;
const maxSetMemoryBytes = 2 * 1024 * 1024;

type Fold = (text: string) => string;

interface PatternSet {
  /** Index of its first pattern in the whole list. */
  readonly offset: number;
  readonly automaton: PatternAutomaton;
  readonly fold: Fold;
  /** Indexes in the whole list. */
  readonly matchAll: readonly number[];
}

type SetsResult = ReadResult<readonly PatternSet[]>;

/** Which texts a pattern takes for the same. */
export type PatternFold = 'forms' | 'confusables';

// Patterns also match without look-alikes: a class such as `\p{Cyrillic}` has none.
const foldsOf = { forms: [foldText], confusables: [foldText, foldLookAlikes] };

// Accents are left out of texts only: a pattern with an accent is found in a text that has it.
const textsOf = (text: string, fold: Fold): ReadonlySet<string> =>
  new Set(fold === foldLookAlikes ? [fold(text), withoutAccents(fold(text))] : [fold(text)]);

type Compiling = Promise<ReadResult<PatternMatcher>>;

// By the list itself: the Guardrails that read one string storage share its compiled patterns.
const compiledLists = { forms: new WeakMap<object, Compiling>(), confusables: new WeakMap<object, Compiling>() };

/** A lorebook's `/pattern/flags` for `compilePatterns`, unchecked; undefined for a text, such as `/home/user`. */
export function patternOfKey(key: string): string | undefined {
  const end = key.lastIndexOf('/');
  const [source, flags] = [key.slice(1, end), key.slice(end + 1)];
  const isText = !key.startsWith('/') || end < 2 || source.replaceAll(/\\[^]/g, '').includes('/');
  if (isText || !/^[dgimsuvy]*$/.test(flags)) return undefined;
  const [on, off] = [
    [...'ims'].filter((flag) => flags.includes(flag)).join(''),
    [...'is'].filter((flag) => !flags.includes(flag)).join(''),
  ];
  const begin = flags.includes('y') ? '\\A' : '';
  return `(?${on}${off && `-${off}`}:${begin}(?:${RE2JS.translateRegExp(source)}))`;
}

/** The first errors of keys that are no valid patterns. @param fix what follows each message. */
export async function patternErrors(
  keys: readonly (readonly [key: string, pointer: string])[],
  fix = '',
): Promise<SchemaError[]> {
  const errors: SchemaError[] = [];
  for (const [key, pointer] of keys) {
    if (errors.length === maxProblems) break;
    const pattern = patternOfKey(key);
    if (pattern === undefined) continue;
    const source = key.slice(1, key.lastIndexOf('/'));
    const limitError = findLimitError(source, sizeOf(source.slice(0, maxPatternLength)), 0);
    const error = limitError ?? (await runChunk(() => addPattern(new RE2Set(), pattern, foldText, 0)[0]));
    if (error) errors.push({ pointer, message: error.message.replace(JSON.stringify(pattern), () => key) + fix });
  }
  return errors;
}

/**
 * Compiles patterns (RE2 syntax; matched anywhere, case-insensitive, in folded text, `\w` and `\b` for every script),
 * once for the same list. Errors have the pointer `/index`.
 * @param sharers the number of lists that share the memory which one list may take.
 */
export function compilePatterns(list: readonly string[], fold: PatternFold = 'forms', sharers = 1): Compiling {
  const compiling = compiledLists[fold].get(list) ?? compileList(list, totalMemoryBytes / sharers, foldsOf[fold]);
  compiledLists[fold].set(list, compiling);
  return compiling;
}

/** The error, at the pointer '', of lists whose patterns are too large together; each alone is checked elsewhere. */
export async function findTotalSizeError(lists: readonly (readonly string[])[]): Promise<SchemaError | undefined> {
  const yieldToOthers = createYielder();
  let totalSize = 0;
  for (const pattern of lists.flat()) {
    totalSize += sizeOf(pattern.slice(0, maxPatternLength));
    await yieldToOthers();
  }
  return totalSize <= maxTotalSize ? undefined : totalSizeError(totalSize);
}

async function compileList(list: readonly string[], listMemoryBytes: number, folds: readonly Fold[]): Compiling {
  const yieldToOthers = createYielder();
  const groups = await groupPatterns(list, yieldToOthers);
  if (!groups.ok) return groups;
  const evenShareBytes = listMemoryBytes / groups.value.length / folds.length;
  const memoryBytes = Math.min(maxSetMemoryBytes, Math.max(minSetMemoryBytes, evenShareBytes));
  const results: SetsResult[] = [];
  for (const { offset, patterns } of groups.value)
    for (const fold of folds) results.push(await runChunk(() => compileSets(patterns, { offset, memoryBytes, fold })));
  const result = combineResults(results);
  if (!result.ok) return result;
  const matchAll = [...new Set(result.value.flatMap((set) => set.matchAll))];
  const bytes = groups.value.reduce((sum, { size }) => sum + bytesPerSize * folds.length * size, 0);
  return { ok: true, value: { match: matchOf(result.value), matchAll, bytes } };
}

interface PatternGroup {
  readonly offset: number;
  readonly patterns: string[];
  size: number;
}

/** The patterns of each set, in order; errors for those that are empty or too large. */
async function groupPatterns(
  list: readonly string[],
  yieldToOthers: () => Promise<void>,
): Promise<ReadResult<readonly PatternGroup[]>> {
  const errors: SchemaError[] = [];
  const groups: PatternGroup[] = [];
  let totalSize = 0;
  for (const [index, pattern] of list.entries()) {
    const size = sizeOf(pattern.slice(0, maxPatternLength));
    const error = findLimitError(pattern, size, index);
    if (error) errors.push(error);
    totalSize += size;
    let group = groups.at(-1);
    if (!group || group.patterns.length === patternsPerSet || group.size + size > maxSetSize) {
      group = { offset: index, patterns: [], size: 0 };
      groups.push(group);
    }
    group.patterns.push(pattern);
    group.size += size;
    await yieldToOthers();
  }
  if (errors.length > 0) return { ok: false, errors };
  if (totalSize <= maxTotalSize) return { ok: true, value: groups };
  return { ok: false, errors: [totalSizeError(totalSize)] };
}

function totalSizeError(totalSize: number): SchemaError {
  const message = `is too large: all patterns together have ${totalSize} characters with their repetitions written out, and ${maxTotalSize} are allowed`;
  return { pointer: '', message, code: 'LIMIT_EXCEEDED' };
}

function findLimitError(pattern: string, size: number, index: number): SchemaError | undefined {
  const pointer = `/${index}`;
  if (pattern === '') return { pointer, message: 'is empty, and would match every text; remove it' };
  const refuse = (has: string, allowed: number): SchemaError => {
    const message = `is too large: it has ${has}, and ${allowed} are allowed; split it`;
    return { pointer, message, code: 'LIMIT_EXCEEDED' };
  };
  if (pattern.length > maxPatternLength) return refuse(`${pattern.length} characters`, maxPatternLength);
  if (size > maxPatternSize) return refuse(`${size} characters with its repetitions written out`, maxPatternSize);
  return undefined;
}

const matchOf =
  (sets: readonly PatternSet[]): PatternMatcher['match'] =>
  async (text, signal, found) => {
    const yieldToOthers = createYielder();
    const pause = async (): Promise<void> => {
      await yieldToOthers();
      signal?.throwIfAborted();
    };
    const folded = new Map<Fold, ReadonlySet<string>>();
    for (const { fold } of sets) if (!folded.has(fold)) folded.set(fold, textsOf(text, fold));
    let first = Infinity;
    for (const { offset, automaton, fold } of sets)
      for (const each of folded.get(fold) ?? []) {
        if (offset > first && !found) continue;
        const matches = found && new Set<number>();
        const match = await automaton.match(each, pause, matches);
        for (const index of matches ?? []) found?.add(offset + index);
        first = Math.min(first, offset + (match ?? Infinity));
        await pause();
      }
    return first === Infinity ? undefined : first;
  };

// Nothing at all, a character that no list names, and a long text of ordinary characters: a pattern that matches these
// matches every text.
const probeTexts = ['', '\u{10fffd}', 'Ab, 1.é_'.repeat(32)];

// Compiles patterns into one set, or into a set each when one is too large for the memory.
function compileSets(
  patterns: readonly string[],
  options: Pick<PatternSet, 'offset' | 'fold'> & { readonly memoryBytes: number },
): SetsResult {
  const { offset, memoryBytes, fold } = options;
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL, memoryBytes);
  const errors = patterns.flatMap((pattern, index) => addPattern(set, pattern, fold, offset + index));
  if (errors.length > 0) return { ok: false, errors };
  try {
    set.compile();
  } catch (error) {
    if (!(error instanceof RE2JSCompileException)) throw error;
    if (patterns.length === 1) return { ok: false, errors: [patternError(error.message, patterns[0], offset)] };
    return combineResults(
      patterns.map((pattern, index) => compileSets([pattern], { ...options, offset: offset + index })),
    );
  }
  // The parsed patterns are not needed any more.
  set.regexps = [];
  const matches = probeTexts.map((text) => new Set(set.match(text)));
  const isEverywhere = (index: number): boolean => matches.every((indexes) => indexes.has(index));
  const matchAll = [...patterns.keys()].filter(isEverywhere).map((index) => offset + index);
  const hasBoundaries = patterns.some((pattern) => /\\b/i.test(pattern));
  return { ok: true, value: [{ offset, fold, automaton: new PatternAutomaton(set, hasBoundaries), matchAll }] };
}

function combineResults<Item>(results: readonly ReadResult<readonly Item[]>[]): ReadResult<readonly Item[]> {
  const errors = results.flatMap((result) => (result.ok ? [] : result.errors));
  // Each fold finds the same mistakes.
  const first = errors.filter(({ pointer }, index) => errors.findIndex((error) => error.pointer === pointer) === index);
  if (first.length > 0) return { ok: false, errors: first };
  return { ok: true, value: results.flatMap((result) => (result.ok ? result.value : [])) };
}

function addPattern(set: RE2Set, pattern: string, fold: Fold, index: number): SchemaError[] {
  try {
    set.add(translatePattern(pattern, fold));
    return [];
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return [patternError(error.error, pattern, index)];
    if (error instanceof UntranslatablePattern) return [patternError(error.message, pattern, index)];
    throw error;
  }
}

const patternError = (reason: string, pattern: string | undefined, index: number): SchemaError => ({
  pointer: `/${index}`,
  message: `is not a supported pattern (RE2 syntax, no lookaround or backreferences): ${JSON.stringify(pattern)}: ${reason}`,
});
