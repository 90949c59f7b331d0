import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** What an assertion allows: the characters before and after it, as classes of the alphabet; -1 is an end of the text. */
type Condition = (before: number, after: number) => boolean;

/** A step of a pattern: it reads a character, or asserts something, or is a choice. */
interface Step {
  readonly reads?: ReadonlySet<number>;
  readonly asserts?: Condition;
  /** Whether it may also fail, for a reason that is not analysed. */
  readonly isUncertain?: boolean;
  readonly next: Step[];
}

/** A way to go on after a character: to the step that reads the next one, or to a match. */
export interface Way {
  /** Number of the position that reads the next character; -1: the pattern matches here. */
  readonly to: number;
  readonly holds: Condition;
  /** Whether it is possible wherever `holds` says so. */
  readonly isCertain: boolean;
}

/** A pattern as the characters that it reads one after the other. */
export interface Automaton {
  /** A character of each class: those that no part of the pattern tells apart are one. */
  readonly alphabet: readonly string[];
  /** The classes that each position reads. */
  readonly reads: readonly ReadonlySet<number>[];
  /** How it goes on after each position. */
  readonly ways: readonly (readonly Way[])[];
  /** How it begins. */
  readonly first: readonly Way[];
}

/** The pattern cannot be analysed, so that nothing is known of its time. */
export class UnknownPattern extends Error {}

// Larger repetitions count as unlimited.
const maxCopies = 300;
const maxWays = 20_000;
const lastCodePoint = 0x10ffff;

/** The automaton of a pattern. @param maxCount repetitions of a higher maximum count as unlimited. */
export function automatonOf(source: string, flags: string, maxCount = Infinity): Automaton {
  return new Compiler(source, flags, maxCount).compile();
}

class Compiler {
  readonly #pattern: AST.Pattern;
  readonly #flags: string;
  readonly #maxCount: number;
  readonly #alphabet: Alphabet;
  readonly #positions = new Map<Step, number>();
  /** Where the body of an assertion ends: nothing goes on there. */
  readonly #dead: Step = { next: [] };
  readonly #match: Step = { next: [] };

  constructor(source: string, flags: string, maxCount: number) {
    this.#flags = flags;
    this.#maxCount = maxCount;
    const unicode = flags.includes('u');
    this.#pattern = new RegExpParser().parsePattern(source, 0, source.length, unicode);
    this.#alphabet = new Alphabet(flags);
    collectSets(this.#pattern, (raw) => this.#alphabet.add(raw));
    this.#alphabet.add('\\w').add('\\n');
  }

  compile(): Automaton {
    const alphabet = this.#alphabet.close();
    const first = this.#ways(this.#alternatives(this.#pattern.alternatives, this.#match));
    const reads: ReadonlySet<number>[] = [];
    const ways: (readonly Way[])[] = [];
    // A map visits what is added on the way.
    for (const [step, position] of this.#positions) {
      reads[position] = step.reads ?? new Set();
      ways[position] = this.#ways({ next: step.next });
    }
    return { alphabet, reads, ways, first };
  }

  #alternatives(alternatives: readonly AST.Alternative[], after: Step): Step {
    return {
      next: alternatives.map((each) =>
        each.elements.reduceRight((next, element) => this.#element(element, next), after),
      ),
    };
  }

  #element(element: AST.Element, after: Step): Step {
    switch (element.type) {
      case 'Character':
      case 'CharacterClass':
      case 'CharacterSet':
        return { reads: this.#alphabet.classesOf(element.raw), next: [after] };
      case 'Group':
      case 'CapturingGroup':
        return this.#alternatives(element.alternatives, after);
      case 'Quantifier':
        return this.#quantifier(element, after);
      case 'Assertion':
        return this.#assertion(element, after);
      default:
        throw new UnknownPattern(`${element.type} ${element.raw}`);
    }
  }

  #quantifier({ element, min, max: given }: AST.Quantifier, after: Step): Step {
    const size = sizeOf(element);
    const max = given > this.#maxCount || given * size > maxCopies ? Infinity : given;
    if (min * size > maxCopies) throw new UnknownPattern(`${element.raw} is repeated too often`);
    let step = after;
    if (max === Infinity) {
      // Two steps, because a loop that was left may be entered again before the next character.
      const again: Step = { next: [] };
      const body = this.#element(element, again);
      again.next.push(body, after);
      const loop: Step = { next: [body, after] };
      step = loop;
    } else for (let count = min; count < max; count++) step = { next: [this.#element(element, step), after] };
    for (let count = 0; count < min; count++) step = this.#element(element, step);
    return step;
  }

  #assertion(assertion: AST.Assertion, after: Step): Step {
    if (assertion.kind === 'lookahead' || assertion.kind === 'lookbehind') return this.#lookaround(assertion, after);
    const isNotBoundary = assertion.kind === 'word' && assertion.negate;
    const isMultiline = this.#flags.includes('m');
    const isIn = (raw: string, code: number): boolean => this.#alphabet.classesOf(raw).has(code);
    if (assertion.kind === 'start')
      return { asserts: (before) => before === -1 || (isMultiline && isIn('\\n', before)), next: [after] };
    if (assertion.kind === 'end')
      return { asserts: (_, next) => next === -1 || (isMultiline && isIn('\\n', next)), next: [after] };
    return {
      asserts: (before, next) => (isIn('\\w', before) === isIn('\\w', next)) === isNotBoundary,
      next: [after],
    };
  }

  #lookaround(assertion: AST.LookaroundAssertion, after: Step): Step {
    const isAhead = assertion.kind === 'lookahead';
    const condition = this.#singleCharacter(assertion);
    if (condition)
      return {
        asserts: (before, next) => condition(isAhead ? next : before) !== assertion.negate,
        next: [after],
      };
    const goesOn: Step = { isUncertain: true, next: [after] };
    if (isAhead) return { next: [this.#alternatives(assertion.alternatives, this.#dead), goesOn] };
    if (isUnlimited(assertion))
      throw new UnknownPattern(`an unlimited text is looked for before a place: ${assertion.raw}`);
    return goesOn;
  }

  /** Whether a character fulfils an assertion of single characters; undefined: it is about more. */
  #singleCharacter({ alternatives, kind }: AST.LookaroundAssertion): ((code: number) => boolean) | undefined {
    const tests = alternatives.map(({ elements }): ((code: number) => boolean) | undefined => {
      const [only, other] = elements;
      if (!only || other) return undefined;
      if (only.type === 'Assertion' && only.kind === (kind === 'lookahead' ? 'end' : 'start'))
        return (code) => code === -1;
      if (only.type !== 'Character' && only.type !== 'CharacterClass' && only.type !== 'CharacterSet') return undefined;
      const classes = this.#alphabet.classesOf(only.raw);
      return (code) => classes.has(code);
    });
    return tests.includes(undefined) ? undefined : (code) => tests.some((test) => test?.(code));
  }

  /** All ways from a step over choices and assertions, each as often as there are such ways. */
  #ways(from: Step): readonly Way[] {
    const ways: Way[] = [];
    const visit = (step: Step, path: readonly Step[]): void => {
      if (ways.length > maxWays) throw new UnknownPattern('it has too many choices');
      if (path.includes(step)) return;
      const on = [...path, step];
      if (step.reads || step === this.#match)
        ways.push({
          to: this.#positionOf(step),
          holds: allOf(path),
          isCertain: !path.some((each) => each.isUncertain),
        });
      else for (const next of step.next) visit(next, on);
    };
    visit(from, []);
    return ways;
  }

  #positionOf(step: Step): number {
    if (step === this.#match) return -1;
    const known = this.#positions.get(step) ?? this.#positions.size;
    this.#positions.set(step, known);
    return known;
  }
}

function allOf(path: readonly Step[]): Condition {
  const conditions = path.flatMap(({ asserts }) => asserts ?? []);
  const [only, other] = conditions;
  if (!only) return () => true;
  return other ? (before, after) => conditions.every((holds) => holds(before, after)) : only;
}

/** How many characters a part of a pattern reads at the most, where each repetition counts as often as it may occur. */
function sizeOf(element: AST.Element): number {
  if (element.type === 'Quantifier')
    return sizeOf(element.element) * (element.max === Infinity ? element.min + 1 : element.max);
  if (
    element.type === 'Group' ||
    element.type === 'CapturingGroup' ||
    (element.type === 'Assertion' && 'alternatives' in element)
  )
    return element.alternatives.reduce(
      (sum, { elements }) => elements.reduce((inner, each) => inner + sizeOf(each), sum),
      1,
    );
  return 1;
}

function isUnlimited({ alternatives }: AST.LookaroundAssertion): boolean {
  const has = (element: AST.Element): boolean =>
    element.type === 'Quantifier'
      ? element.max === Infinity || has(element.element)
      : 'alternatives' in element && element.alternatives.some(({ elements }) => elements.some(has));
  return alternatives.some(({ elements }) => elements.some(has));
}

function collectSets(node: AST.Pattern, add: (raw: string) => void): void {
  const visit = (element: AST.Element): void => {
    if (element.type === 'Character' || element.type === 'CharacterClass' || element.type === 'CharacterSet')
      add(element.raw);
    else if (element.type === 'Quantifier') visit(element.element);
    else if ('alternatives' in element) for (const { elements } of element.alternatives) elements.forEach(visit);
  };
  for (const { elements } of node.alternatives) elements.forEach(visit);
}

const knownBounds = new Map<string, readonly number[]>();

/** The characters that the sets of a pattern tell apart. */
class Alphabet {
  readonly #flags: string;
  readonly #isUnicode: boolean;
  readonly #tests = new Map<string, RegExp>();
  readonly #classes = new Map<string, ReadonlySet<number>>();

  constructor(flags: string) {
    this.#isUnicode = flags.includes('u');
    this.#flags = flags.replaceAll(/[^ius]/g, '');
  }

  add(raw: string): this {
    this.#tests.set(raw, new RegExp(`^(?:${raw})$`, this.#flags));
    return this;
  }

  /** Ends the alphabet. @returns a character of each class. */
  close(): readonly string[] {
    const bounds = new Set([...this.#tests].flatMap(([raw, test]) => this.#boundsOf(raw, test)));
    const samples = new Map<string, number>();
    const tests = [...this.#tests.values()];
    // A letter is easier to read than a control character.
    for (const code of ['a', 'z', '0', ' ', '!', '\n'].map((text) => text.charCodeAt(0)).concat([...bounds])) {
      const character = this.#character(code);
      const key = tests.map((test) => Number(test.test(character))).join('');
      if (!samples.has(key)) samples.set(key, code);
    }
    const alphabet = [...samples.values()].map((code) => this.#character(code));
    for (const [raw, test] of this.#tests)
      this.#classes.set(raw, new Set(alphabet.flatMap((character, index) => (test.test(character) ? index : []))));
    return alphabet;
  }

  /** The classes of the characters of a set. */
  classesOf(raw: string): ReadonlySet<number> {
    return this.#classes.get(raw) ?? new Set();
  }

  #character(code: number): string {
    return this.#isUnicode ? String.fromCodePoint(code) : String.fromCharCode(code);
  }

  /** The first character of each run of characters that are in a set, or are not. */
  #boundsOf(raw: string, test: RegExp): readonly number[] {
    const key = `${this.#flags}/${raw}`;
    const known = knownBounds.get(key);
    if (known) return known;
    // Most sets are one character.
    const only = raw.charCodeAt(0);
    if (/^[\w "'<>=:,`-]$/.test(raw) && !this.#flags.includes('i')) return [0, only, only + 1];
    const bounds = [0];
    let was = test.test('\0');
    // Of the ideographs and beyond the first plane, a 64th is enough: no pattern is about single ones of them.
    const isDense = (code: number): boolean => code < 0x4e00 || (code >= 0xf900 && code < 0x10000);
    for (let code = 1; code <= (this.#isUnicode ? lastCodePoint : 0xffff); code += isDense(code) ? 1 : 64) {
      const is = test.test(this.#character(code));
      if (is !== was) bounds.push(code);
      was = is;
    }
    knownBounds.set(key, bounds);
    return bounds;
  }
}
