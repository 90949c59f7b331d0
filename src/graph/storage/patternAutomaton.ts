import type { RE2Set } from 're2js';

/** A state of re2js's automaton, as far as it is read here. */
interface State {
  /** Known successors by number of the class of the character; null = not known yet. */
  readonly next: readonly (State | null)[] | null;
  /** Instructions that are active in this state. */
  readonly nfaStates: readonly number[];
  /** Patterns whose match ends before the last character that was read. */
  readonly matchIDs: readonly number[];
}

interface Instruction {
  matchRune(rune: number): boolean;
}

// Characters read, or instructions visited for a state that was not known, between two pauses: well below a millisecond.
const workPerPause = 4096;

// Of re2js, which are those of Go's regexp/syntax: BeginLine and BeginText.
const beginFlags = 1 | 4;
const endOfText = -1;
const unanchored = 0;
const letter = 0x61;

/**
 * The automaton of a compiled set. It matches in pieces, where `RE2Set.match` takes minutes in one synchronous call for
 * some patterns that are a few characters long: their automaton has a new state for nearly each character. `\b` is a
 * boundary of words of every script, and of the classes of characters, of which `\w` has more than a thousand, states
 * have room for those that were met.
 */
export class PatternAutomaton {
  readonly #dfa: RE2Set['dfa'];
  readonly #instructions: number;
  readonly #hasBoundaries: boolean;
  /** Numbers of classes, from 1, in the order in which they were met; 0 = not yet. */
  readonly #numbers: Int32Array;
  /** Those of the first characters, which most texts have. */
  readonly #latin = new Int32Array(256);
  #count = 0;
  /** The character of the step that is taken. */
  #rune = 0;

  /** @param hasBoundaries whether a pattern has `\b` or `\B`. */
  constructor({ dfa, prog }: RE2Set, hasBoundaries: boolean) {
    this.#dfa = dfa;
    this.#instructions = prog.numInst();
    this.#hasBoundaries = hasBoundaries;
    this.#numbers = new Int32Array(2 * dfa.numClasses);
    // re2js takes no character beyond ASCII for one of a word. A step gets a letter in place of those that are.
    if (hasBoundaries)
      for (const instruction of prog.inst as Instruction[]) {
        const matchRune = instruction.matchRune.bind(instruction);
        instruction.matchRune = () => matchRune(this.#rune);
      }
    this.#makeRoom(Math.min(2 * dfa.numClasses, 64));
  }

  /**
   * @param pause called between the pieces; it may wait, or throw to end the match.
   * @param found gets the indexes of all patterns that match; absent: the smallest one suffices.
   * @returns the smallest index of a pattern that matches anywhere; undefined when none does.
   */
  async match(text: string, pause: () => Promise<void>, found?: Set<number>): Promise<number | undefined> {
    const isEnough = (smallest: number | undefined): boolean => smallest === 0 && !found;
    const latin = this.#latin;
    let state = this.#findStart();
    let smallest: number | undefined;
    let work = 0;
    for (let offset = 0; offset <= text.length && !isEnough(smallest); offset++) {
      const rune = text.codePointAt(offset) ?? endOfText;
      const number = latin[rune] || this.#numberOf(rune);
      const known = state.next?.[number];
      work += known ? 1 : 1 + state.nfaStates.length;
      state = known ?? this.#findNext(state, number, rune);
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

  #numberOf(rune: number): number {
    if (rune === endOfText) return 0;
    const key = 2 * this.#dfa.runeClass(rune) + Number(this.#hasBoundaries && isWordCharacter(rune));
    const number = (this.#numbers[key] ||= ++this.#count);
    if (rune < this.#latin.length) this.#latin[rune] = number;
    return number;
  }

  #findStart(): State {
    const dfa = this.#dfa;
    const make = (): State | null =>
      dfa.makeState([(dfa.prog as { start: number }).start], beginFlags, []) as State | null;
    const state = make();
    if (state) return state;
    dfa.clearCache();
    return assertState(make());
  }

  #findNext(state: State, number: number, rune: number): State {
    this.#rune = rune;
    const stepRune = this.#hasBoundaries && rune > 0x7f && isWordCharacter(rune) ? letter : rune;
    const step = (from: State): State | null => this.#dfa.step(from, number, stepRune, unanchored) as State | null;
    if (number > this.#dfa.numClasses) this.#makeRoom(2 * number);
    const next = number < (state.next?.length ?? Infinity) ? step(state) : null;
    // Its memory, or the room of its state, is full: it starts anew from this state.
    return next ?? assertState(step(assertState(this.#dfa.resetCache(state) as State | null)));
  }

  /** Makes room for classes in states, and for the states that one step needs: large sets need more than their share. */
  #makeRoom(classes: number): void {
    const dfa = this.#dfa;
    dfa.numClasses = classes;
    const stateBytes = 1024 + 8 * (this.#instructions + classes);
    dfa.stateBudget = Math.max(dfa.stateBudget, 4 * stateBytes);
    dfa.clearCache();
  }
}

const wordCharacter = /[\p{L}\p{M}\p{N}_]/u;
const [isWord, isOther] = [1, 2];
const kinds = new Uint8Array(0x110000);

const isWordCharacter = (rune: number): boolean =>
  (kinds[rune] ||= wordCharacter.test(String.fromCodePoint(rune)) ? isWord : isOther) === isWord;

function assertState(state: State | null): State {
  if (!state) throw new TypeError('the memory of a pattern set is too small for one state');
  return state;
}
