import type { RE2Set } from 're2js';

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
 * @returns the smallest index of a pattern that matches anywhere; undefined when none does.
 */
export async function matchSet({ dfa }: RE2Set, text: string, pause: () => Promise<void>): Promise<number | undefined> {
  let state = findStart(dfa);
  let smallest: number | undefined;
  let work = 0;
  for (let offset = 0; offset <= text.length && smallest !== 0; offset++) {
    const rune = text.codePointAt(offset) ?? endOfText;
    const runeClass = rune === endOfText ? dfa.numClasses : dfa.runeClass(rune);
    const known = state.next?.[runeClass];
    work += known ? 1 : 1 + state.nfaStates.length;
    state = known ?? findNext(dfa, state, runeClass, rune);
    for (const index of state.matchIDs) smallest = Math.min(smallest ?? index, index);
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
