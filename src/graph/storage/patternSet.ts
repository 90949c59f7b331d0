import { RE2JS, RE2JSCompileException, RE2JSSyntaxException, RE2Set } from 're2js';
import { createYielder, runChunk } from '../../base/eventLoop.ts';
import { estimatePatternSize } from '../../base/patterns.ts';
import type { ReadResult, SchemaError } from '../../protocol/schema.ts';

/** Compiled regular expressions (RE2), matched in time linear in the text: there is no catastrophic backtracking. */
export interface PatternMatcher {
  /**
   * The index of the first pattern, in the order of the list, that matches anywhere in the text; undefined when none does.
   * @throws the signal's reason when it is aborted.
   */
  match(text: string, signal: AbortSignal): Promise<number | undefined>;
  /** The indexes of all patterns that match anywhere in the text. @throws as `match`. */
  matchEach(text: string, signal: AbortSignal | undefined): Promise<ReadonlySet<number>>;
  /** Indexes of the patterns that match every text, such as `x*`. */
  readonly matchAll: readonly number[];
  /** About what they take in memory. */
  readonly bytes: number;
}

// Compiling a pattern takes a few milliseconds per 1,000 characters, with counted repetitions written out, and cannot be
// interrupted.
const maxPatternLength = 16_384;
const maxPatternSize = 20_000;
// Of all patterns of a list: about 400 bytes each, so 120 MB.
const maxTotalSize = 300_000;
// At least, of a character with its repetitions written out.
const bytesPerSize = 64;

// One synchronous pass over the text matches all patterns of a set. Sets are small, so that the event loop runs between
// them. Twenty patterns are near the fastest: in larger sets the patterns share hardly any work, and evict each other's
// automaton states from the memory of the set.
const patternsPerSet = 20;
const maxSetSize = 5000;
// In re2js's own account; the process takes about twice as much.
const totalMemoryBytes = 16 * 1024 * 1024;
const minSetMemoryBytes = 64 * 1024;
const maxSetMemoryBytes = 2 * 1024 * 1024;

interface PatternSet {
  /** Index of its first pattern in the whole list. */
  readonly offset: number;
  readonly set: RE2Set;
  /** Indexes in the whole list. */
  readonly matchAll: readonly number[];
}

type SetsResult = ReadResult<readonly PatternSet[]>;

// By the list itself: the Guardrails that read one string storage share its compiled patterns.
const compiledLists = new WeakMap<readonly string[], Promise<ReadResult<PatternMatcher>>>();

/**
 * The pattern of a key as lorebooks write a regular expression, `/pattern/flags`, for `compilePatterns`; undefined for a key
 * that is a text, such as `/home/user`. The error has the pointer ''.
 */
export function readPatternKey(key: string): ReadResult<string | undefined> {
  const end = key.lastIndexOf('/');
  const [source, flags] = [key.slice(1, end), key.slice(end + 1)];
  const isText = !key.startsWith('/') || end < 2 || source.replaceAll(/\\[^]/g, '').includes('/');
  if (isText || !/^[dgimsuvy]*$/.test(flags)) return { ok: true, value: undefined };
  const size = estimatePatternSize(source.slice(0, maxPatternLength));
  const on = [...new Set(flags)].filter((flag) => 'ims'.includes(flag)).join('');
  const begin = flags.includes('y') ? '\\A' : '';
  const pattern = `(?${on}${on.includes('i') ? '' : '-i'}:${begin}(?:${RE2JS.translateRegExp(source)}))`;
  const error = findLimitError(source, size, 0) ?? addPattern(new RE2Set(), pattern, 0)[0];
  if (!error) return { ok: true, value: pattern };
  return {
    ok: false,
    errors: [{ ...error, pointer: '', message: error.message.replace(JSON.stringify(pattern), () => key) }],
  };
}

/**
 * Compiles patterns (RE2 syntax; matched anywhere, case-insensitive, Unicode-aware), once for the same list. Errors have
 * the pointer `/index`.
 * @param sharers the number of lists that share the memory which one list may take.
 */
export function compilePatterns(list: readonly string[], sharers = 1): Promise<ReadResult<PatternMatcher>> {
  const known = compiledLists.get(list);
  if (known) return known;
  const compiling = compileList(list, totalMemoryBytes / sharers);
  compiledLists.set(list, compiling);
  return compiling;
}

/**
 * The error of lists whose patterns are too large together, with the pointer ''; undefined: they are not. A list alone is
 * checked when it is compiled.
 */
export async function findTotalSizeError(lists: readonly (readonly string[])[]): Promise<SchemaError | undefined> {
  const yieldToOthers = createYielder();
  let totalSize = 0;
  for (const pattern of lists.flat()) {
    totalSize += estimatePatternSize(pattern.slice(0, maxPatternLength));
    await yieldToOthers();
  }
  return totalSize <= maxTotalSize ? undefined : totalSizeError(totalSize);
}

async function compileList(list: readonly string[], listMemoryBytes: number): Promise<ReadResult<PatternMatcher>> {
  const yieldToOthers = createYielder();
  const groups = await groupPatterns(list, yieldToOthers);
  if (!groups.ok) return groups;
  const evenShareBytes = listMemoryBytes / groups.value.length;
  const memoryBytes = Math.min(maxSetMemoryBytes, Math.max(minSetMemoryBytes, evenShareBytes));
  const results: SetsResult[] = [];
  for (const { offset, patterns } of groups.value) {
    results.push(await runChunk(() => compileSets(patterns, offset, memoryBytes)));
  }
  const result = combineResults(results);
  if (!result.ok) return result;
  const matchAll = result.value.flatMap((set) => set.matchAll);
  const bytes = list.reduce((sum, pattern) => sum + bytesPerSize * estimatePatternSize(pattern), 0);
  return { ok: true, value: { ...createMatcher(result.value), matchAll, bytes } };
}

interface PatternGroup {
  readonly offset: number;
  readonly patterns: string[];
}

/** The patterns of each set, in order; errors for those that are empty or too large. */
async function groupPatterns(
  list: readonly string[],
  yieldToOthers: () => Promise<void>,
): Promise<ReadResult<readonly PatternGroup[]>> {
  const errors: SchemaError[] = [];
  const groups: PatternGroup[] = [];
  let [setSize, totalSize] = [Infinity, 0];
  for (const [index, pattern] of list.entries()) {
    const size = estimatePatternSize(pattern.slice(0, maxPatternLength));
    const error = findLimitError(pattern, size, index);
    if (error) errors.push(error);
    setSize += size;
    totalSize += size;
    let group = groups.at(-1);
    if (!group || group.patterns.length === patternsPerSet || setSize > maxSetSize) {
      group = { offset: index, patterns: [] };
      groups.push(group);
      setSize = size;
    }
    group.patterns.push(pattern);
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

function createMatcher(sets: readonly PatternSet[]): Pick<PatternMatcher, 'match' | 'matchEach'> {
  const run = async (text: string, signal: AbortSignal | undefined, found?: Set<number>) => {
    const yieldToOthers = createYielder();
    const pause = async (): Promise<void> => {
      await yieldToOthers();
      signal?.throwIfAborted();
    };
    for (const { offset, set } of sets) {
      const matches = found && new Set<number>();
      const match = await matchSet(set, text, pause, matches);
      for (const index of matches ?? []) found?.add(offset + index);
      if (match !== undefined && !found) return offset + match;
      await pause();
    }
    return undefined;
  };
  return {
    match: run,
    async matchEach(text, signal) {
      const found = new Set<number>();
      await run(text, signal, found);
      return found;
    },
  };
}

// Nothing at all, a character that no list names, and a long text of ordinary characters: a pattern that matches these
// matches every text.
const probeTexts = ['', '\u{10fffd}', 'Ab, 1.é_'.repeat(32)];

// Compiles patterns into one set, or into a set each when one is too large for the memory.
function compileSets(patterns: readonly string[], offset: number, memoryBytes: number): SetsResult {
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
  // The parsed patterns are not needed any more.
  set.regexps = [];
  ensureMemory(set);
  const matches = probeTexts.map((text) => new Set(set.match(text)));
  const isEverywhere = (index: number): boolean => matches.every((indexes) => indexes.has(index));
  const matchAll = [...patterns.keys()].filter(isEverywhere).map((index) => offset + index);
  return { ok: true, value: [{ offset, set, matchAll }] };
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
  message: `is not a supported pattern (RE2 syntax, no lookaround or backreferences): ${JSON.stringify(pattern)}: ${reason}`,
});

type Dfa = RE2Set['dfa'];

/** A state of re2js's automaton, as far as it is read here. */
interface State {
  /** Known successors by character class; null = not known yet. */
  readonly next: readonly (State | null)[] | null;
  /** Instructions that are active in this state. */
  readonly nfaStates: readonly number[];
  /** Patterns whose match ends before the last character that was read. */
  readonly matchIDs: readonly number[];
}

// Characters read, or instructions visited for a state that was not known, between two pauses: well below a millisecond.
const workPerPause = 4096;

// Of re2js, which are those of Go's regexp/syntax: BeginLine and BeginText.
const beginFlags = 1 | 4;
const endOfText = -1;
const unanchored = 0;

/**
 * Matches a text against a compiled set, in pieces. `RE2Set.match` does it in one synchronous call, which takes minutes
 * for some patterns that are a few characters long: their automaton has a new state for nearly each character.
 * @param pause called between the pieces; it may wait, or throw to end the match.
 * @param found gets the indexes of all patterns that match; absent: the smallest one suffices.
 * @returns the smallest index of a pattern that matches anywhere; undefined when none does.
 */
export async function matchSet(
  { dfa }: RE2Set,
  text: string,
  pause: () => Promise<void>,
  found?: Set<number>,
): Promise<number | undefined> {
  const isEnough = (smallest: number | undefined): boolean => smallest === 0 && !found;
  let state = findStart(dfa);
  let smallest: number | undefined;
  let work = 0;
  for (let offset = 0; offset <= text.length && !isEnough(smallest); offset++) {
    const rune = text.codePointAt(offset) ?? endOfText;
    const runeClass = rune === endOfText ? dfa.numClasses : dfa.runeClass(rune);
    const known = state.next?.[runeClass];
    work += known ? 1 : 1 + state.nfaStates.length;
    state = known ?? findNext(dfa, state, runeClass, rune);
    for (const index of state.matchIDs) {
      smallest = Math.min(smallest ?? index, index);
      found?.add(index);
    }
    if (rune > 0xffff) offset++;
    if (work < workPerPause) continue;
    work = 0;
    await pause();
  }
  return smallest;
}

/** Makes room for the states that one step needs; a set with many instructions needs more than its share. */
export function ensureMemory({ dfa, prog }: RE2Set): void {
  const instructions = (prog as { numInst(): number }).numInst();
  const stateBytes = 1024 + 8 * (instructions + dfa.numClasses);
  dfa.stateBudget = Math.max(dfa.stateBudget, 4 * stateBytes);
  dfa.memBudget = dfa.stateBudget;
}

function findStart(dfa: Dfa): State {
  const make = (): State | null =>
    dfa.makeState([(dfa.prog as { start: number }).start], beginFlags, []) as State | null;
  const state = make();
  if (state) return state;
  dfa.clearCache();
  return assertState(make());
}

function findNext(dfa: Dfa, state: State, runeClass: number, rune: number): State {
  const next = dfa.step(state, runeClass, rune, unanchored) as State | null;
  if (next) return next;
  // Its memory is full: it starts anew from this state.
  const restored = assertState(dfa.resetCache(state) as State | null);
  return assertState(dfa.step(restored, runeClass, rune, unanchored) as State | null);
}

function assertState(state: State | null): State {
  if (!state) throw new TypeError('the memory of a pattern set is too small for one state');
  return state;
}
