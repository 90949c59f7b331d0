/** Where a control string stands in a text (UTF-16 units, `end` exclusive). */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** The spellings of a vocabulary's control tokens, and where they stand in a text. */
export class ControlTokenMatcher {
  readonly #anywhere: RegExp | undefined;
  readonly #longestFirst: RegExp | undefined;
  readonly #beginnings = new Set<string>();
  readonly #endings = new Set<string>();
  readonly #all: string;
  readonly #longest: number;

  constructor(strings: Iterable<string>) {
    const spellings = [...new Set(strings)].filter((spelling) => spelling !== '').sort();
    this.#all = spellings.join('\0');
    this.#longest = Math.max(0, ...spellings.map((spelling) => spelling.length));
    for (const spelling of spellings) {
      for (let at = 1; at < spelling.length; at++) {
        this.#beginnings.add(spelling.slice(0, at));
        this.#endings.add(spelling.slice(at));
      }
    }
    if (spellings.length === 0) return;
    this.#anywhere = new RegExp(`(?=${spellings.map(escaped).join('|')})`, 'g');
    this.#longestFirst = new RegExp(spellings.map(escaped).sort(byLength).join('|'), 'g');
  }

  /** Each control string in a text from left to right, without overlaps. */
  find(text: string): readonly TextSpan[] {
    if (!this.#longestFirst) return [];
    return [...text.matchAll(this.#longestFirst)].map(({ index, 0: found }) => ({
      start: index,
      end: index + found.length,
    }));
  }

  /**
   * The places in a text that must not be read as the beginning of a control string: those where one stands, and the
   * ends of the text where one would arise together with what may stand beside it.
   */
  unsafeOffsets(text: string): readonly number[] {
    if (!this.#anywhere || text === '') return [];
    const places = new Set([...text.matchAll(this.#anywhere)].map((match) => match.index));
    const reach = Math.min(text.length, this.#longest - 1);
    for (let length = 1; length <= reach; length++) {
      if (this.#beginnings.has(text.slice(-length))) places.add(text.length - length);
      if (this.#endings.has(text.slice(0, length))) places.add(0);
    }
    if (text.length < this.#longest && this.#all.includes(text)) places.add(0);
    return [...places].sort((a, b) => a - b);
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
const byLength = (a: string, b: string): number => b.length - a.length;
