import { distance } from 'fastest-levenshtein';

/** A term of the dictionary that a word of a query may mean. */
export interface TermMatch {
  /** Its index in the dictionary. */
  readonly term: number;
  /** 1 = a form of the word itself; less for a prefix or a misspelling. */
  readonly quality: number;
  /** Whether the match can hardly be an accident: the same word, or seven letters and more that agree but for an edit. */
  readonly isSure: boolean;
}

const minPrefixLength = 4;
const minEditedLength = 4;
/** Longer words are no words of a language, and comparing two takes time in the product of their lengths. */
const maxEditedLength = 40;
const minTwiceEditedLength = 9;
const sureLength = 7;
/** A prefix matches words of up to this many letters more. */
const maxEndingLength = 5;
/** Max terms of a word that is not itself in the dictionary, or continues others. */
const maxMatches = 16;
/** Max words that one is compared with: those of a natural storage are fewer. */
const maxCompared = 20_000;
const formsPerChunk = 1000;
const qualities = { prefix: 0.8, shortened: 0.7, oneEdit: 0.8, twoEdits: 0.5 } as const;

/** The words of a storage: finds those that a word of a query may mean, as a form, a prefix or a misspelling. */
export class TermDictionary {
  readonly #byStem: ReadonlyMap<string, number>;
  /** Stems and words as they are written, and the term of each. */
  readonly #forms: string[] = [];
  readonly #terms: number[] = [];
  /** Indexes of forms by their first letter and length. */
  readonly #buckets = new Map<string, number[]>();

  private constructor(byStem: ReadonlyMap<string, number>) {
    this.#byStem = byStem;
  }

  /**
   * @param byStem the term of each stem.
   * @param byWord the term of each word as it is written; undefined: the word is not searched.
   */
  static async create(
    byStem: ReadonlyMap<string, number>,
    byWord: ReadonlyMap<string, number | undefined>,
    yieldToOthers: () => Promise<void>,
  ): Promise<TermDictionary> {
    const dictionary = new TermDictionary(byStem);
    let visited = 0;
    for (const [stem, term] of byStem) {
      dictionary.#add(stem, term);
      if (visited++ % formsPerChunk === 0) await yieldToOthers();
    }
    for (const [word, term] of byWord) {
      if (term !== undefined && !byStem.has(word)) dictionary.#add(word, term);
      if (visited++ % formsPerChunk === 0) await yieldToOthers();
    }
    return dictionary;
  }

  /** The terms that a word may mean, best first, each once. */
  find(word: string, stem: string): readonly TermMatch[] {
    const exact = this.#byStem.get(stem);
    const written = new Set([word, stem]);
    const matches = [...this.#shortened(stem)];
    for (const start of written) matches.push(...this.#continuing(start));
    // A word that is known is not misspelled.
    if (exact === undefined) for (const form of written) matches.push(...this.#edited(form));
    matches.sort((a, b) => b.quality - a.quality || a.term - b.term);
    const best = new Map<number, TermMatch>();
    if (exact !== undefined) best.set(exact, { term: exact, quality: 1, isSure: true });
    for (const match of matches) if (best.size < maxMatches && !best.has(match.term)) best.set(match.term, match);
    return [...best.values()];
  }

  #add(form: string, term: number): void {
    const index = this.#forms.length;
    this.#forms.push(form);
    this.#terms.push(term);
    const bucket = this.#buckets.get(bucketOf(form, form.length));
    if (bucket) bucket.push(index);
    else this.#buckets.set(bucketOf(form, form.length), [index]);
  }

  *#continuing(start: string): Generator<TermMatch> {
    if (start.length < minPrefixLength) return;
    const isSure = start.length >= sureLength;
    for (let length = start.length + 1; length <= start.length + maxEndingLength; length++)
      for (const [form, term] of this.#bucket(start, length))
        if (form.startsWith(start)) yield { term, quality: (qualities.prefix * start.length) / length, isSure };
  }

  *#shortened(stem: string): Generator<TermMatch> {
    for (let length = stem.length - 1; length >= minPrefixLength && length >= stem.length / 2; length--) {
      const term = this.#byStem.get(stem.slice(0, length));
      const quality = (qualities.shortened * length) / stem.length;
      if (term !== undefined) yield { term, quality, isSure: length >= sureLength };
    }
  }

  *#edited(word: string): Generator<TermMatch> {
    if (word.length < minEditedLength || word.length > maxEditedLength) return;
    const maxEdits = word.length >= minTwiceEditedLength ? 2 : 1;
    const isSure = word.length >= sureLength;
    // The first letter is seldom wrong, unless it is one too many or swapped with the second.
    for (const first of new Set([word, word.slice(1)]))
      for (let length = word.length - maxEdits; length <= word.length + maxEdits; length++)
        for (const [form, term] of this.#bucket(first, length)) {
          if (isSingleEdit(word, form)) yield { term, quality: qualities.oneEdit - 1 / word.length, isSure };
          else if (maxEdits === 2 && distance(word, form) === 2)
            yield { term, quality: qualities.twoEdits, isSure: false };
        }
  }

  /** Words of a length with the first letter of another word, at most so many. */
  *#bucket(first: string, length: number): Generator<readonly [string, number]> {
    const bucket = this.#buckets.get(bucketOf(first, length)) ?? [];
    for (const index of bucket.length > maxCompared ? bucket.slice(0, maxCompared) : bucket)
      yield [this.#forms[index] ?? '', this.#terms[index] ?? 0];
  }
}

const bucketOf = (form: string, length: number): string => `${form.slice(0, 1)}${length}`;

/**
 * Whether one edit makes one word of another: a letter replaced, added or left out, or two adjacent letters swapped
 * (optimal string alignment, distance 1). Words that are equal are not.
 */
export function isSingleEdit(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let start = 0;
  while (start < short.length && short.charCodeAt(start) === long.charCodeAt(start)) start++;
  if (long.length > short.length) return short.slice(start) === long.slice(start + 1);
  if (start === long.length) return false;
  if (short.slice(start + 1) === long.slice(start + 1)) return true;
  return (
    short.charCodeAt(start) === long.charCodeAt(start + 1) &&
    short.charCodeAt(start + 1) === long.charCodeAt(start) &&
    short.slice(start + 2) === long.slice(start + 2)
  );
}
