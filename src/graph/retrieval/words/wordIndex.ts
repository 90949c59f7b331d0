import { memoized } from '../../../base/memoized.ts';
import { createYielder } from '../../../base/eventLoop.ts';
import { KeyIndex } from './keyIndex.ts';
import { piecesOf, splitCharacters, splitWords } from './splitWords.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { KnowledgeEntry } from '../../storage/knowledge/knowledge.ts';
import type { StringStorage } from '../../storage/stringStorage.ts';
import { mergePostings, type Postings, PostingsBuilder } from './postings.ts';
import { TermDictionary } from './termDictionary.ts';
import { WordSearch } from './wordSearch.ts';

/** What the index of a later state is derived from. */
interface IndexParts {
  readonly entries: readonly KnowledgeEntry[];
  /** These two only grow, with the states of one storage. */
  readonly dictionary: TermDictionary;
  readonly keys: KeyIndex;
  /** Whether other storages use them, too. */
  readonly isShared: boolean;
  readonly postings: Postings;
  readonly lengths: Uint32Array;
  /** Entries that have been removed since the index was built: what is left of them takes memory. */
  readonly removed: number;
}

/** More than texts of 64 MiB in one language have; what is beyond takes more memory than the texts themselves. */
const maxSizes = { 'different words': 500_000, keys: 1_000_000, 'words in all': 2 ** 24 } as const;

/** After so many removed entries, and as many as there are, an index is built anew. */
const minRemoved = 1000;

/**
 * The index of a state of a storage, made on the first call in chunks that yield to the event loop, and freed with the state:
 * derived from that of an earlier state, if there is one, else built.
 * @throws Fault LIMIT_EXCEEDED when it is too large.
 */
export const wordIndexOf: (storage: StringStorage) => ReturnType<typeof extend> = memoized(async (storage) => {
  const former = storage.former?.state;
  // Kept any longer, each state would keep all before it, and two would be derived from the same one at a time.
  if (storage.former) storage.former.state = undefined;
  const earlier = former && (await wordIndexOf(former).catch(() => undefined))?.parts;
  if (!earlier || earlier.removed > Math.max(minRemoved, storage.list.length)) return extend(emptyParts(), storage);
  // What is left of removed entries counts, too, until the index is built anew.
  return extend(earlier, storage).catch(() => extend(emptyParts(), storage));
});

const emptyParts = (): IndexParts => ({
  entries: [],
  dictionary: new TermDictionary(),
  keys: new KeyIndex(),
  isShared: false,
  postings: { starts: new Uint32Array(1), entries: new Uint32Array(0), counts: new Uint8Array(0) },
  lengths: new Uint32Array(0),
  removed: 0,
});

/** The index of a storage, of which only those entries are read that the index of an earlier state lacks. */
async function extend(earlier: IndexParts, { list, knowledge, isOfClient = false }: StringStorage) {
  const yieldToOthers = createYielder();
  const dictionary = earlier.isShared ? earlier.dictionary.copy() : earlier.dictionary;
  const keys = earlier.isShared ? earlier.keys.copy() : earlier.keys;
  const entries = knowledge?.entries ?? [];
  const added = new PostingsBuilder();
  const lengths = new Uint32Array(list.length);
  // The new place of each entry that stays, from 1: those are the first ones, in the same order.
  const positions = new Uint32Array(earlier.entries.length);
  let kept = 0;
  for (let index = 0; index < earlier.entries.length; index++) {
    if (earlier.entries[index] !== entries[kept]) continue;
    lengths[kept++] = earlier.lengths[index] ?? 0;
    positions[index] = kept;
  }
  for (let index = kept; index < list.length; index++) {
    const terms: number[] = [];
    for (const piece of piecesOf(list[index] ?? '')) {
      for (const word of [...splitWords(piece), ...splitCharacters(piece)]) {
        const term = dictionary.add(word);
        if (term !== undefined) terms.push(term);
      }
      await yieldToOthers();
    }
    added.add(index, terms);
    lengths[index] = terms.length;
    const entry = entries[index];
    if (entry) keys.add(entry);
    const words = earlier.postings.entries.length + added.length;
    checkSizes({ 'different words': dictionary.words, keys: keys.size, 'words in all': words });
  }
  const forms = await dictionary.addForms(yieldToOthers);
  const built = await added.build(dictionary.size, yieldToOthers);
  const postings = kept > 0 ? await mergePostings(earlier.postings, positions, built, yieldToOthers) : built;
  const places = new Map<KnowledgeEntry, number>();
  for (const [at, entry] of entries.entries()) if (entry.keys.length > 0) places.set(entry, at);
  const removed = earlier.removed + earlier.entries.length - kept;
  return {
    words: new WordSearch(dictionary, forms, postings, lengths),
    /** What the keys say about messages, the newest first. @throws as `KeyIndex.find`. */
    findKeys: (messages: readonly string[], depth: number, signal: AbortSignal | undefined) =>
      keys.find(messages, depth, places, signal),
    parts: { entries, dictionary, keys, isShared: !isOfClient, postings, lengths, removed } satisfies IndexParts,
  };
}

function checkSizes(sizes: Readonly<Record<keyof typeof maxSizes, number>>): void {
  for (const what of ['different words', 'keys', 'words in all'] as const)
    if (sizes[what] > maxSizes[what])
      throw new Fault(
        'LIMIT_EXCEEDED',
        `the storage has too many words for a search: more than ${maxSizes[what]} ${what}; divide it into several storages`,
      );
}
