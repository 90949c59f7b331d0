import { memoized } from '../../../base/memoized.ts';
import { createYielder } from '../../../base/eventLoop.ts';
import { KeyIndex } from './keyIndex.ts';
import { piecesOf, splitCharacters, splitWords, wordStem } from './splitWords.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { StringStorage } from '../../storage/stringStorage.ts';
import { unsearchedWords } from './functionWords.ts';
import { PostingsBuilder } from './postings.ts';
import { TermDictionary } from './termDictionary.ts';
import { WordSearch } from './wordSearch.ts';

/** The words of a storage and the keys of its entries. */
export interface WordIndex {
  readonly words: WordSearch;
  readonly keys: KeyIndex;
}

/** More than texts of 64 MiB in one language have; what is beyond takes more memory than the texts themselves. */
const maxSizes = { 'different words': 500_000, keys: 1_000_000, 'words in all': 2 ** 24 } as const;

/**
 * The index of a storage, built on the first call in chunks that yield to the event loop, and freed with the storage.
 * @throws Fault LIMIT_EXCEEDED when it is too large.
 */
export const wordIndexOf = memoized(async ({ list, knowledge }: StringStorage): Promise<WordIndex> => {
  const yieldToOthers = createYielder();
  const terms = new TermNumbers();
  const postings = new PostingsBuilder();
  const keys = new KeyIndex();
  const lengths = new Uint32Array(list.length);
  for (const [index, text] of list.entries()) {
    const numbers: number[] = [];
    for (const piece of piecesOf(text)) {
      for (const word of [...splitWords(piece), ...splitCharacters(piece)]) {
        const number = terms.numberOf(word);
        if (number !== undefined) numbers.push(number);
      }
      await yieldToOthers();
    }
    postings.add(index, numbers);
    lengths[index] = numbers.length;
    const entry = knowledge?.entries[index];
    if (entry) keys.add(entry, index);
    checkSizes({ 'different words': terms.byWord.size, keys: keys.size, 'words in all': postings.length });
  }
  const dictionary = await TermDictionary.create(terms.byStem, terms.byWord, yieldToOthers);
  const words = new WordSearch(dictionary, await postings.build(terms.byStem.size, yieldToOthers), lengths);
  return { words, keys };
});

function checkSizes(sizes: Readonly<Record<keyof typeof maxSizes, number>>): void {
  for (const what of ['different words', 'keys', 'words in all'] as const)
    if (sizes[what] > maxSizes[what])
      throw new Fault(
        'LIMIT_EXCEEDED',
        `the storage has too many words for a search: more than ${maxSizes[what]} ${what}; divide it into several storages`,
      );
}

/** The numbers of stems, in the order of their appearance; each form of a word is stemmed once. */
class TermNumbers {
  readonly byStem = new Map<string, number>();
  readonly byWord = new Map<string, number | undefined>();

  /** The number of a word's stem; undefined for a function word. */
  numberOf(word: string): number | undefined {
    if (this.byWord.has(word)) return this.byWord.get(word);
    const number = unsearchedWords.has(word) ? undefined : this.#numberOfStem(wordStem(word));
    this.byWord.set(word, number);
    return number;
  }

  #numberOfStem(stem: string): number {
    const existing = this.byStem.get(stem);
    if (existing !== undefined) return existing;
    this.byStem.set(stem, this.byStem.size);
    return this.byStem.size - 1;
  }
}
