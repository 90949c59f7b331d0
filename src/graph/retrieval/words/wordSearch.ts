import { sharedAdmission } from '../../../base/eventLoop.ts';
import { type RankedEntry, type RankingRequest, bestEntries } from '../ranking.ts';
import { unsearchedWords } from './functionWords.ts';
import { splitPieces, splitWords, wordStem } from './splitWords.ts';
import type { Postings } from './postings.ts';
import type { KnownTerms, TermMatch, TermDictionary } from './termDictionary.ts';

/** Parameters of BM25: how soon further occurrences stop to count, and how much long texts count less. */
const saturation = 1.2;
const lengthWeight = 0.7;

/** Max different words of a query that are searched, the first ones. */
const maxQueryWords = 128;

/** The share of the query, weighted by the rarity of its words, that an entry must have which has no sure match. */
const minCoverage = 0.28;

/** A word that more texts than this share have does not suffice alone. */
const maxTellingShare = 0.1;
const maxTellingEntries = 3;

/** A word that more texts than this share have counts for nothing. */
const maxShare = 0.5;
const maxShareEntries = 4;
const candidatesPerChunk = 1024;

/** What the search of one query adds up, per entry. */
const createSums = (total: number) => ({
  scores: new Float32Array(total),
  /** The weight of the words that the entry has, each as well as it matches. */
  covered: new Float32Array(total),
  /** Whether the entry has a sure match of a rare word: 1 or 0. */
  sure: new Uint8Array(total),
  /** The number of the last word of the query that the entry has, from 1. */
  lastWord: new Uint16Array(total),
  /** The entries with a score. */
  touched: [] as number[],
});

type Sums = ReturnType<typeof createSums>;

/** The search by words over one storage: BM25 over stems, with prefixes and misspellings. */
export class WordSearch {
  readonly #dictionary: TermDictionary;
  readonly #known: KnownTerms;
  readonly #postings: Postings;
  /** What the count of a term is added to, per entry: more for a long text. */
  readonly #lengthNorms: Float32Array;
  #last: Promise<unknown> = Promise.resolve();

  /** @param forms so many of the dictionary it has. @param lengths words per entry. */
  constructor(dictionary: TermDictionary, forms: number, postings: Postings, lengths: Uint32Array) {
    this.#dictionary = dictionary;
    this.#known = { forms, has: (term) => this.#countOf(term) > 0 };
    this.#postings = postings;
    const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(lengths.length, 1) || 1;
    this.#lengthNorms = new Float32Array(lengths.length);
    for (let index = 0; index < lengths.length; index++)
      this.#lengthNorms[index] = saturation * (1 - lengthWeight + (lengthWeight * (lengths[index] ?? 0)) / meanLength);
  }

  /** The best entries, best first. One search at a time: each needs memory for all entries. @throws the signal's reason. */
  run(request: RankingRequest): Promise<readonly RankedEntry[]> {
    const result = this.#last.then(() => this.#search(request));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #search({ query, topK, isEligible, signal }: RankingRequest): Promise<readonly RankedEntry[]> {
    let admitted = sharedAdmission();
    if (admitted) await admitted;
    signal?.throwIfAborted();
    const sums = createSums(this.#lengthNorms.length);
    let queryWeight = 0;
    let word = 0;
    for (const [stem, written] of await wordsOf(query)) {
      const matches = this.#dictionary.find(written, stem, this.#known);
      const [best] = matches;
      if (best?.quality === 1 && this.#isEverywhere(best.term)) continue;
      word++;
      queryWeight += this.#weight(best ? this.#countOf(best.term) : 1);
      for (const match of matches) if (!this.#isEverywhere(match.term)) this.#addMatch(match, word, sums);
      admitted = sharedAdmission();
      if (admitted) await admitted;
      signal?.throwIfAborted();
    }
    const best = bestEntries(topK);
    for (const [visited, index] of sums.touched.entries()) {
      const score = sums.scores[index] ?? 0;
      const coverage = (sums.covered[index] ?? 0) / queryWeight;
      const isRelevant = sums.sure[index] === 1 || coverage >= minCoverage;
      if (isRelevant && best.admits(index, score) && isEligible(index)) best.add({ index, score, coverage });
      if (visited % candidatesPerChunk > 0) continue;
      admitted = sharedAdmission();
      if (admitted) await admitted;
    }
    return best.sorted;
  }

  #addMatch({ term, quality, isSure }: TermMatch, word: number, sums: Sums): void {
    const { scores, covered, sure, lastWord, touched } = sums;
    const { starts, entries, counts } = this.#postings;
    const weight = this.#weight(this.#countOf(term)) * quality;
    const isTelling = isSure && this.#countOf(term) <= this.#maxOf(maxTellingEntries, maxTellingShare);
    const end = starts[term + 1] ?? 0;
    for (let posting = starts[term] ?? 0; posting < end; posting++) {
      const entry = entries[posting] ?? 0;
      // It has a better match of the same word.
      if (lastWord[entry] === word) continue;
      lastWord[entry] = word;
      const count = counts[posting] ?? 0;
      const score = scores[entry] ?? 0;
      if (score === 0) touched.push(entry);
      scores[entry] = score + (weight * count * (saturation + 1)) / (count + (this.#lengthNorms[entry] ?? 1));
      covered[entry] = (covered[entry] ?? 0) + weight;
      if (isTelling) sure[entry] = 1;
    }
  }

  /** The weight of a word that so many entries have (inverse document frequency). */
  #weight(count: number): number {
    const total = this.#lengthNorms.length;
    return Math.log(1 + (total - count + 0.5) / (count + 0.5));
  }

  #countOf(term: number): number {
    const { starts } = this.#postings;
    return (starts[term + 1] ?? 0) - (starts[term] ?? 0);
  }

  #isEverywhere(term: number): boolean {
    return this.#countOf(term) > this.#maxOf(maxShareEntries, maxShare);
  }

  #maxOf(entries: number, share: number): number {
    return Math.max(entries, share * this.#lengthNorms.length);
  }
}

/** The stems of the words of a query, each with a word as it is written. */
async function wordsOf(query: string): Promise<readonly (readonly [string, string])[]> {
  const words = new Map<string, string>();
  for (const word of new Set(await splitPieces(query, splitWords))) {
    if (words.size === maxQueryWords) break;
    if (!unsearchedWords.has(word)) words.set(wordStem(word), word);
  }
  return [...words];
}
