import type { CreateStringStorageRequest } from '../../protocol/frames.gen.ts';
import { invalidStorage } from './invalidStorage.ts';
import type { Knowledge } from './knowledge/knowledge.ts';

/** Kind of a string storage: LIST = no keys; MAP = unique keys; MULTIMAP = keys that may occur several times; KNOWLEDGE = entries to search. */
export type StorageKind = CreateStringStorageRequest['kind'];

/** A string storage: an immutable list of strings that nodes read: lines of a CannedResponse, patterns of a Guardrail. */
export interface StringStorage {
  readonly kind: StorageKind;
  /** LIST, KNOWLEDGE: as written. MAP, MULTIMAP: sorted by key, as written within a key. */
  readonly list: readonly string[];
  /** The key of each string; a LIST has none. For KNOWLEDGE: the ids. */
  readonly keys: readonly string[];
  /** Where a string is written, for those of a file. */
  readonly placeOf?: (index: number) => string;
  /** For KNOWLEDGE only: its entries, fields and model. */
  readonly knowledge?: Knowledge;
  /** Whether a client has sent its strings: nothing that is made of them is written to disk. Default false. */
  readonly isOfClient?: boolean;
  /** The state of a storage that grows, which never changes itself: a search works on the one that it took. Absent: this is one. */
  readonly current?: StringStorage;
  /** Calls a listener after each change of a storage that grows, until the result is called. */
  readonly onChange?: (listener: () => void) => () => void;
  /** For a state: an earlier one, which its index is derived from; who has done that forgets it. */
  readonly former?: { state: StringStorage | undefined };
}

/** What a storage of any kind has now. */
export const stateOf = (storage: StringStorage): StringStorage => storage.current ?? storage;

export interface MapEntry {
  readonly key: string;
  readonly text: string;
}

export const createList = (strings: readonly string[], placeOf?: StringStorage['placeOf']): StringStorage => ({
  kind: 'LIST',
  list: [...strings],
  keys: [],
  ...(placeOf && { placeOf }),
});

/** @param name the storage's name in messages. @throws Fault INVALID_STRING_STORAGE_DATA when a MAP has a key twice. */
export function createMap(kind: 'MAP' | 'MULTIMAP', entries: readonly MapEntry[], name: string): StringStorage {
  const sorted = [...entries].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const duplicate = kind === 'MAP' ? sorted.find((entry, index) => entry.key === sorted[index - 1]?.key) : undefined;
  if (duplicate)
    throw invalidStorage(`${name} has the key "${duplicate.key}" twice; remove one, or make it a MULTIMAP`);
  return { kind, list: sorted.map(({ text }) => text), keys: sorted.map(({ key }) => key) };
}

export const createKnowledge = (knowledge: Knowledge): StringStorage => ({
  kind: 'KNOWLEDGE',
  list: knowledge.entries.map(({ text }) => text),
  keys: knowledge.entries.map(({ id }) => id),
  knowledge,
});
