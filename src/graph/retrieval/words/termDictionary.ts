import { distance } from 'fastest-levenshtein';
import { unsearchedWords } from './functionWords.ts';
import { wordStem } from './splitWords.ts';

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

/** The part of a dictionary that one state of a storage has. */
export interface KnownTerms {
  /** So many of the forms, the first ones. */
  readonly forms: number;
  /** Whether an entry has a term. */
  has(term: number): boolean;
}

/** Finds the words that a query's word may mean: forms, prefixes, misspellings. It only grows. */
export class TermDictionary {
  /** The numbers of stems, in the order of their appearance. */
  #byStem = new Map<string, number>();
  /** The number of each word as it is written, so that it is stemmed once; undefined: it is a function word. */
  #byWord = new Map<string, number | undefined>();
  /** Stems and words as they are written, and the term of each. */
  #forms: string[] = [];
  #terms: number[] = [];
  /** Indexes of forms by their first letter and length. */
  #buckets = new Map<string, number[]>();
  /** What is no form yet. */
  #newStems: string[] = [];
  #newWords: string[] = [];

  /** Another one with the same words. */
  copy(): TermDictionary {
    const copy = new TermDictionary();
    copy.#byStem = new Map(this.#byStem);
    copy.#byWord = new Map(this.#byWord);
    copy.#forms = [...this.#forms];
    copy.#terms = [...this.#terms];
    copy.#buckets = new Map([...this.#buckets].map(([name, indexes]) => [name, [...indexes]]));
    return copy;
  }

  /** The number of terms. */
  get size(): number {
    return this.#byStem.size;
  }

  /** The number of different words. */
  get words(): number {
    return this.#byWord.size;
  }

  /** The term of a word, which is added if it is not there; undefined for a function word. */
  add(word: string): number | undefined {
    if (this.#byWord.has(word)) return this.#byWord.get(word);
    const stem = unsearchedWords.has(word) ? undefined : wordStem(word);
    const known = stem === undefined ? undefined : this.#byStem.get(stem);
    const term = stem === undefined ? undefined : (known ?? this.#byStem.size);
    this.#byWord.set(word, term);
    if (stem !== undefined && term !== undefined && known === undefined) {
      this.#byStem.set(stem, term);
      this.#newStems.push(stem);
    }
    if (term !== undefined) this.#newWords.push(word);
    return term;
  }

  /** Lets the words that were added be found. @returns the number of forms. */
  async addForms(yieldToOthers: () => Promise<void>): Promise<number> {
    const [stems, words] = [this.#newStems, this.#newWords];
    [this.#newStems, this.#newWords] = [[], []];
    for (const [index, form] of [...stems, ...words].entries()) {
      const isStem = index < stems.length;
      if (isStem || !this.#byStem.has(form)) this.#addForm(form, (isStem ? this.#byStem : this.#byWord).get(form) ?? 0);
      if (index % formsPerChunk === 0) await yieldToOthers();
    }
    return this.#forms.length;
  }

  /** The terms that a word may mean, best first, each once. */
  find(word: string, stem: string, { forms, has }: KnownTerms): readonly TermMatch[] {
    const found = this.#byStem.get(stem);
    const exact = found !== undefined && has(found) ? found : undefined;
    // A number that is not quite the same is another one.
    const written = new Set(/^\p{N}+$/u.test(word) ? [] : [word, stem]);
    let matches = written.size > 0 ? [...this.#shortened(stem)] : [];
    for (const start of written) matches.push(...this.#continuing(start, forms));
    // A word that is known is not misspelled.
    if (exact === undefined) for (const form of written) matches.push(...this.#edited(form, forms));
    matches = matches.filter(({ term }) => has(term)).sort((a, b) => b.quality - a.quality || a.term - b.term);
    const best = new Map<number, TermMatch>();
    if (exact !== undefined) best.set(exact, { term: exact, quality: 1, isSure: true });
    for (const match of matches) if (best.size < maxMatches && !best.has(match.term)) best.set(match.term, match);
    return [...best.values()];
  }

  #addForm(form: string, term: number): void {
    const index = this.#forms.length;
    this.#forms.push(form);
    this.#terms.push(term);
    const bucket = this.#buckets.get(bucketOf(form, form.length));
    if (bucket) bucket.push(index);
    else this.#buckets.set(bucketOf(form, form.length), [index]);
  }

  *#continuing(start: string, forms: number): Generator<TermMatch> {
    if (start.length < minPrefixLength) return;
    const isSure = start.length >= sureLength;
    for (let length = start.length + 1; length <= start.length + maxEndingLength; length++)
      for (const [form, term] of this.#bucket(start, length, forms))
        if (form.startsWith(start)) yield { term, quality: (qualities.prefix * start.length) / length, isSure };
  }

  *#shortened(stem: string): Generator<TermMatch> {
    for (let length = stem.length - 1; length >= minPrefixLength && length >= stem.length / 2; length--) {
      const term = this.#byStem.get(stem.slice(0, length));
      const quality = (qualities.shortened * length) / stem.length;
      if (term !== undefined) yield { term, quality, isSure: length >= sureLength };
    }
  }

  *#edited(word: string, forms: number): Generator<TermMatch> {
    if (word.length < minEditedLength || word.length > maxEditedLength) return;
    const maxEdits = word.length >= minTwiceEditedLength ? 2 : 1;
    const isSure = word.length >= sureLength;
    // The first letter is seldom wrong, unless it is one too many or swapped with the second.
    for (const first of new Set([word, word.slice(1)]))
      for (let length = word.length - maxEdits; length <= word.length + maxEdits; length++)
        for (const [form, term] of this.#bucket(first, length, forms)) {
          if (isSingleEdit(word, form)) yield { term, quality: qualities.oneEdit - 1 / word.length, isSure };
          else if (maxEdits === 2 && distance(word, form) === 2)
            yield { term, quality: qualities.twoEdits, isSure: false };
        }
  }

  /** Words of a length with the first letter of another word, at most so many. */
  *#bucket(first: string, length: number, forms: number): Generator<readonly [string, number]> {
    const bucket = this.#buckets.get(bucketOf(first, length)) ?? [];
    for (const index of bucket.length > maxCompared ? bucket.slice(0, maxCompared) : bucket)
      if (index < forms) yield [this.#forms[index] ?? '', this.#terms[index] ?? 0];
  }
}

const bucketOf = (form: string, length: number): string => `${form.slice(0, 1)}${length}`;

/** Whether one edit makes one word of another: a letter replaced, added, left out, or swapped with the next. */
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
