import { type Automaton, automatonOf, UnknownPattern, type Way } from './automaton.ts';

/** How the time of a pattern grows with the length of a text, where it is not linear. */
export interface Growth {
  readonly kind: 'exponential' | 'polynomial' | 'unknown';
  /** A text whose repetition takes that time, or what is not known. */
  readonly repeated: string;
}

/** How a pattern is used: whether it goes on after a match. */
export interface PatternUse {
  readonly source: string;
  readonly flags: string;
  readonly isRepeated: boolean;
}

// A repetition of this maximum has enough room for exponential time.
const manyTimes = 8;

/**
 * How the time of a pattern grows, in a matcher that tries one way after the other (V8's); undefined: it is linear, wherever
 * in a text the search begins. It counts the ways in which a repeated text can be read before a match fails.
 */
export function growthOf(use: PatternUse): Growth | undefined {
  const key = `${use.source}/${use.flags}/${use.isRepeated}`;
  if (!known.has(key)) known.set(key, findGrowth(use));
  return known.get(key);
}

const known = new Map<string, Growth | undefined>();

function findGrowth({ source, flags, isRepeated }: PatternUse): Growth | undefined {
  try {
    const growth = new Search(automatonOf(source, flags), isRepeated).growth();
    if (growth || !/\{\d/.test(source)) return growth;
    const unlimited = new Search(automatonOf(source, flags, manyTimes), isRepeated).growth();
    return unlimited?.kind === 'exponential' ? unlimited : undefined;
  } catch (error) {
    if (!(error instanceof UnknownPattern)) throw error;
    return { kind: 'unknown', repeated: error.message };
  }
}

/** A position that has read a character of a class. */
interface State {
  readonly id: number;
  /** Number of the position; -1: the search has not begun at the character yet. */
  readonly position: number;
  readonly read: number;
}

const beforeStart = -1;

/** What can follow a character: a state, or a match before a character of a class. */
interface Choice {
  readonly after: number;
  readonly state: State | undefined;
  /** Whether it is possible for certain. */
  readonly isCertain: boolean;
}

/** What a matcher tries after a character. */
interface Tried {
  readonly next: readonly State[];
  /** The next characters for which the pattern matches for certain, and those before which it ends. */
  readonly matched: ReadonlySet<number>;
  readonly ended: ReadonlySet<number>;
}

/** What is tried of some choices: what comes after one that matches for certain is not. */
function triedOf(choices: readonly Choice[], always: readonly boolean[]): Tried {
  const [matched, ended] = [new Set<number>(), new Set<number>()];
  const next: State[] = [];
  for (const { after, state, isCertain } of choices) {
    if (matched.has(after)) continue;
    if (state) next.push(state);
    else ended.add(after);
    if (isCertain && (!state || always[state.id])) matched.add(after);
  }
  return { next, matched, ended };
}

/** The states that follow a state, by the class of the character that they read. */
type ByCharacter = (id: number) => readonly (readonly State[])[];

/** The number of the loop (strongly connected component) that each state is in; undefined: it is in none. */
type Loops = readonly (number | undefined)[];

/** They are made when they are first needed: most states are in no loop. */
function byCharacter(following: (id: number) => readonly State[]): ByCharacter {
  const known: (readonly (readonly State[])[])[] = [];
  const listsOf = (states: readonly State[]): readonly (readonly State[])[] => {
    const lists: State[][] = [];
    for (const state of states) (lists[state.read] ??= []).push(state);
    return lists;
  };
  return (id) => (known[id] ??= listsOf(following(id)));
}

interface Around {
  readonly loops: Loops;
  readonly before: ReadonlySet<State>;
}

class Search {
  readonly #automaton: Automaton;
  readonly #isRepeated: boolean;
  readonly #states = new Map<number, State>();
  /** Where a way that is going to fail can go on; a state is in it as often as there are ways to it. */
  readonly #failing: (readonly State[])[] = [];
  /** Where ways can go on that fail beside the one that matches. */
  readonly #beside: (readonly State[])[] = [];
  /** Where the search as a whole can go on. */
  readonly #searching: (readonly State[])[] = [];
  readonly #list: State[] = [];
  readonly #loops: Loops;
  readonly #failingBy: ByCharacter;
  readonly #searchingBy: ByCharacter;
  readonly #besideBy: ByCharacter;
  /** The failing ways that stay in the loop of their state. */
  readonly #inLoop: ByCharacter;

  constructor(automaton: Automaton, isRepeated: boolean) {
    this.#automaton = automaton;
    this.#isRepeated = isRepeated;
    this.#collect();
    this.#loops = loopsOf(this.#failing);
    this.#failingBy = byCharacter((id) => this.#failing[id] ?? []);
    this.#searchingBy = byCharacter((id) => this.#searching[id] ?? []);
    this.#besideBy = byCharacter((id) => this.#beside[id] ?? []);
    const loops = this.#loops;
    this.#inLoop = byCharacter((id) => (this.#failing[id] ?? []).filter((state) => loops[state.id] === loops[id]));
  }

  growth(): Growth | undefined {
    return this.#exponential() ?? this.#polynomial();
  }

  #collect(): void {
    const { alphabet, first } = this.#automaton;
    alphabet.forEach((_, read) => this.#state(beforeStart, read));
    this.#choices(first, -1);
    const all: (readonly Choice[])[] = [];
    // The list grows on the way.
    for (const state of this.#list) all[state.id] = this.#choices(this.#waysOf(state), state.read);
    const always = findAlwaysMatching(this.#list, all, alphabet.length);
    const starts = alphabet.map((_, before) => triedOf(this.#choices(first, before), always));
    const laterOf = alphabet.map((_, read) =>
      alphabet.flatMap((__, after) => (starts[read]?.matched.has(after) ? [] : [this.#state(beforeStart, after)])),
    );
    for (const { id, position, read } of this.#list) {
      const tried = position === beforeStart ? starts[read] : triedOf(all[id] ?? [], always);
      const next = tried?.next ?? [];
      const failing = tried?.matched.size ? next.filter((state) => !tried.matched.has(state.read)) : next;
      const later = laterOf[read] ?? [];
      const again = this.#isRepeated && tried?.ended.size ? [...(starts[read]?.next ?? []), ...later] : [];
      const rest = position === beforeStart ? later : again.filter((state) => tried?.ended.has(state.read));
      const searching = rest.length > 0 ? [...next, ...rest] : next;
      this.#failing[id] = failing;
      this.#searching[id] = searching;
      this.#beside[id] = searching.filter((state) => !always[state.id] && state.position !== beforeStart);
    }
  }

  #waysOf({ position }: State): readonly Way[] {
    return position === beforeStart ? this.#automaton.first : (this.#automaton.ways[position] ?? []);
  }

  /** What can follow a character, in the order in which it is tried. The end of the text has a class of its own, the last. */
  #choices(ways: readonly Way[], before: number): readonly Choice[] {
    const end = this.#automaton.alphabet.length;
    const choices: Choice[] = [];
    for (const { to, holds, isCertain } of ways)
      if (to !== -1) {
        for (const after of this.#automaton.reads[to] ?? [])
          if (holds(before, after)) choices.push({ after, state: this.#state(to, after), isCertain });
      } else
        for (let after = 0; after <= end; after++)
          if (holds(before, after === end ? -1 : after)) choices.push({ after, state: undefined, isCertain });
    return choices;
  }

  #state(position: number, read: number): State {
    const key = (position - beforeStart) * this.#automaton.alphabet.length + read;
    const known = this.#states.get(key);
    if (known) return known;
    const state = { id: this.#list.length, position, read };
    this.#states.set(key, state);
    this.#list.push(state);
    return state;
  }

  /** Two ways from a state back to itself over the same text: each repetition doubles the number of ways. */
  #exponential(): Growth | undefined {
    // Without a choice in a loop there is one way through it.
    const hasChoice = (id: number): boolean => this.#inLoop(id).some((states) => states.length > 1);
    const loops = new Set(this.#loops.filter((loop, id) => loop !== undefined && hasChoice(id)));
    for (const { id, position } of this.#list) {
      if (position === beforeStart || this.#loops[id] === undefined || !loops.has(this.#loops[id])) continue;
      const text = this.#pathOf([id, id, 0], ([one = 0, other = 0, apart = 0]) =>
        this.#inLoop(one).flatMap((ways, read) =>
          ways.flatMap((a, way) =>
            (this.#inLoop(other)[read] ?? []).map((b, otherWay) => [
              a.id,
              b.id,
              Number(apart || one !== other || way !== otherWay),
            ]),
          ),
        ),
      );
      if (text !== undefined) return { kind: 'exponential', repeated: text };
    }
    return undefined;
  }

  /** Ways from a state back to itself, from it to a second one, and from that back to itself, over the same text. */
  #polynomial(): Growth | undefined {
    const known = new Map<number, Around>();
    for (const second of this.#list) {
      const loop = this.#loops[second.id];
      if (second.position === beforeStart || loop === undefined) continue;
      const around = known.get(loop) ?? this.#around(loop);
      known.set(loop, around);
      for (const first of around.before) {
        if (first.read !== second.read) continue;
        for (const isFailing of first.position === beforeStart ? [false] : [true, false]) {
          const loops = isFailing ? this.#loops : around.loops;
          if (loops[first.id] === undefined || (isFailing && first === second)) continue;
          const steps = isFailing ? this.#failingBy : this.#searchingBy;
          const text = this.#secondLoop(first, second, { steps, loops });
          if (text !== undefined) return { kind: 'polynomial', repeated: text };
        }
      }
    }
    return undefined;
  }

  /** Over the characters of a loop, the loops of the search, and the states that the loop can follow. */
  #around(loop: number): Around {
    const members = this.#list.filter(({ id }) => this.#loops[id] === loop);
    const reads = new Set(members.map(({ read }) => read));
    const searching = this.#searching.map((next) => next.filter(({ read }) => reads.has(read)));
    const before = new Set(members);
    for (let size = 0; size < before.size;) {
      size = before.size;
      for (const state of this.#list) {
        const next = [...(searching[state.id] ?? []), ...(this.#beside[state.id] ?? [])];
        if (reads.has(state.read) && next.some((each) => reads.has(each.read) && before.has(each))) before.add(state);
      }
    }
    return { loops: loopsOf(searching), before };
  }

  #secondLoop(
    first: State,
    second: State,
    { steps, loops }: { readonly steps: ByCharacter; readonly loops: Loops },
  ): string | undefined {
    const isFailing = steps === this.#failingBy;
    const next = ([one = 0, middle = 0, last = 0, apart = 0]: readonly number[]): readonly (readonly number[])[] => {
      const all: (readonly number[])[] = [];
      this.#inLoop(last).forEach((ends, read) =>
        (steps(one)[read] ?? []).forEach((a, way) => {
          if (loops[a.id] !== loops[first.id]) return;
          // A search succeeds in one way only: others, from a place on, fail.
          if (!isFailing && !apart)
            for (const [b, isApart] of this.#leaving(one, a, way))
              for (const c of ends) all.push([a.id, b.id, c.id, isApart]);
          else
            for (const b of this.#failingBy(middle)[read] ?? []) for (const c of ends) all.push([a.id, b.id, c.id, 1]);
        }),
      );
      return all;
    };
    return this.#pathOf([first.id, first.id, second.id, 0], next, [first.id, second.id, second.id, 1]);
  }

  /** Where the way that will fail can be, as the search goes on to a state: with it, or on a way of its own. */
  #leaving(from: number, to: State, way: number): readonly (readonly [State, number])[] {
    const others = this.#besideBy(from)[to.read] ?? [];
    const isSameWay = (this.#searchingBy(from)[to.read] ?? []).slice(0, way).every((state) => state !== to);
    return [[to, 0], ...others.filter((state) => state !== to || !isSameWay).map((state) => [state, 1] as const)];
  }

  /** The text over which one combination of states follows from another; undefined: it does not. */
  #pathOf(
    from: readonly number[],
    next: (states: readonly number[]) => readonly (readonly number[])[],
    to: readonly number[] = [...from.slice(0, -1), 1],
  ): string | undefined {
    const count = this.#list.length;
    // The last number is 0 or 1.
    const keyOf = (states: readonly number[]): number =>
      states.reduce((key, id, index) => key * (index === states.length - 1 ? 2 : count) + id, 0);
    const goal = keyOf(to);
    const seen = new Set<number>();
    let level: (readonly [states: readonly number[], text: string])[] = [[from, '']];
    while (level.length > 0) {
      const later: typeof level = [];
      for (const [states, text] of level)
        for (const following of next(states)) {
          const key = keyOf(following);
          const longer = text + (this.#automaton.alphabet[this.#list[following[0] ?? 0]?.read ?? 0] ?? '');
          if (key === goal) return longer;
          if (seen.has(key)) continue;
          seen.add(key);
          later.push([following, longer]);
        }
      if (seen.size > maxCombinations) throw new UnknownPattern('it has too many combinations');
      level = later;
    }
    return undefined;
  }
}

/** Whether the pattern matches whatever follows each state: no way from it fails. */
function findAlwaysMatching(
  states: readonly State[],
  choices: readonly (readonly Choice[])[],
  classes: number,
): readonly boolean[] {
  const always = states.map(({ position }) => position !== beforeStart);
  const holds = ({ id }: State): boolean => {
    const matched = (choices[id] ?? []).filter(({ state, isCertain }) => isCertain && (!state || always[state.id]));
    return new Set(matched.map(({ after }) => after)).size === classes + 1;
  };
  const backwards = states.toReversed();
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const state of backwards) {
      if (!always[state.id] || holds(state)) continue;
      always[state.id] = false;
      isChanged = true;
    }
  }
  return always;
}

const maxCombinations = 300_000;

function loopsOf(steps: readonly (readonly State[])[]): Loops {
  const [order, low, onStack, loops]: [number[], number[], boolean[], number[]] = [[], [], [], []];
  const stack: number[] = [];
  let count = 0;
  const visit = (id: number): void => {
    order[id] = low[id] = count++;
    stack.push(id);
    onStack[id] = true;
    for (const { id: next } of steps[id] ?? []) {
      if (order[next] === undefined) visit(next);
      if (onStack[next]) low[id] = Math.min(low[id] ?? 0, low[next] ?? 0);
    }
    if (low[id] !== order[id]) return;
    const members = stack.splice(stack.lastIndexOf(id));
    for (const member of members) {
      onStack[member] = false;
      if (members.length > 1 || (steps[member] ?? []).some((next) => next.id === member)) loops[member] = id;
    }
  };
  steps.forEach((_, id) => {
    if (order[id] === undefined) visit(id);
  });
  return loops;
}
