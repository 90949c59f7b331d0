import { distance } from 'fastest-levenshtein';
import { isSingleEdit } from './singleEdit.ts';

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
const minTwiceEditedLength = 9;
const sureLength = 7;
/** A prefix matches words of up to this many letters more. */
const maxEndingLength = 5;
/** Max terms of a word that is not itself in the dictionary, or continues others. */
const maxMatches = 16;
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
    const matches = [...this.#continuing(stem), ...this.#shortened(stem)];
    // A word that is known is not misspelled.
    if (exact === undefined) for (const written of new Set([word, stem])) matches.push(...this.#edited(written));
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

  *#continuing(stem: string): Generator<TermMatch> {
    if (stem.length < minPrefixLength) return;
    const isSure = stem.length >= sureLength;
    for (let length = stem.length + 1; length <= stem.length + maxEndingLength; length++)
      for (const [form, term] of this.#bucket(stem, length))
        if (form.startsWith(stem)) yield { term, quality: (qualities.prefix * stem.length) / length, isSure };
  }

  *#shortened(stem: string): Generator<TermMatch> {
    for (let length = stem.length - 1; length >= minPrefixLength && length >= stem.length / 2; length--) {
      const term = this.#byStem.get(stem.slice(0, length));
      const quality = (qualities.shortened * length) / stem.length;
      if (term !== undefined) yield { term, quality, isSure: length >= sureLength };
    }
  }

  *#edited(word: string): Generator<TermMatch> {
    if (word.length < minEditedLength) return;
    const maxEdits = word.length >= minTwiceEditedLength ? 2 : 1;
    const isSure = word.length >= sureLength;
    // The first letter is seldom wrong, unless it is left out or swapped with the second.
    for (const first of new Set([word, word.slice(1)]))
      for (let length = word.length - maxEdits; length <= word.length + maxEdits; length++)
        for (const [form, term] of this.#bucket(first, length)) {
          if (isSingleEdit(word, form)) yield { term, quality: qualities.oneEdit - 1 / word.length, isSure };
          else if (maxEdits === 2 && distance(word, form) === 2)
            yield { term, quality: qualities.twoEdits, isSure: false };
        }
  }

  *#bucket(first: string, length: number): Generator<readonly [string, number]> {
    for (const index of this.#buckets.get(bucketOf(first, length)) ?? [])
      yield [this.#forms[index] ?? '', this.#terms[index] ?? 0];
  }
}

const bucketOf = (form: string, length: number): string => `${form.slice(0, 1)}${length}`;
