import type { CreateStringStorageRequest } from '../frames.gen.ts';
import { Fault } from '../fault.ts';

/** How the entries of a storage are named: not at all, by unique keys, by keys that may recur. */
export type StorageKind = CreateStringStorageRequest['kind'];

/** A list of strings that nodes read: refusal lines, patterns. Frozen. */
export interface StringStorage {
  readonly kind: StorageKind;
  /** In the order of a LIST; by key, stable within a key, of a MAP or MULTIMAP. */
  readonly list: readonly string[];
}

/** One entry of a MAP or MULTIMAP. */
export interface MapEntry {
  readonly key: string;
  readonly text: string;
}

/** A LIST. */
export const createList = (strings: readonly string[]): StringStorage => ({ kind: 'LIST', list: [...strings] });

/** A MAP or MULTIMAP. @throws Fault INVALID_STRING_STORAGE_DATA when a MAP has a key twice. */
export function createMap(kind: 'MAP' | 'MULTIMAP', entries: readonly MapEntry[], what: string): StringStorage {
  const sorted = [...entries].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const twice = kind === 'MAP' ? sorted.find((entry, index) => entry.key === sorted[index - 1]?.key) : undefined;
  if (twice) throw invalidStorage(`${what} has the key "${twice.key}" twice; a MULTIMAP may`);
  return { kind, list: sorted.map(({ text }) => text) };
}

/** What a storage cannot be made of. */
export const invalidStorage = (message: string, cause?: unknown): Fault =>
  new Fault('INVALID_STRING_STORAGE_DATA', message, { cause });
