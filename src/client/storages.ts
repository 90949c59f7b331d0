import { checks, optionsCheck } from './options.ts';

/** Options of `searchStorage`. */
export interface SearchStorageOptions {
  /** A storage of the session by its name, else a file of its storage folder. */
  readonly name: string;
  readonly query: string;
  /** Default: by words. */
  readonly match?: 'words' | 'vectors' | 'both';
  /** Max hits, at most 1,000; default: 3. */
  readonly topK?: number;
  /** Conditions on the metadata, such as `{ min_level: { $lte: 12 } }`. */
  readonly filter?: object;
  /** Stops waiting. */
  readonly signal?: AbortSignal;
  /** Milliseconds until `searchStorage` rejects with TIMEOUT; default: see `ClientLimits`. */
  readonly timeoutMs?: number;
}

/** An entry that `searchStorage` has found. */
export interface StorageHit {
  readonly id: string;
  readonly text: string;
  /** Higher is better; 0 for an entry that its keys bring, or that every search brings. */
  readonly score: number;
  readonly metadata: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** What `searchStorage` has found. */
export interface StorageHits {
  /** Best first; then the entries that every search brings. */
  readonly hits: readonly StorageHit[];
  /** Whether there are hits in addition to those that every search brings. */
  readonly found: boolean;
}

/** Checks the options of `searchStorage`. @throws Fault MALFORMED_MESSAGE with the path. */
export const checkSearchOptions = optionsCheck<SearchStorageOptions>('searchStorage', {
  name: checks.field,
  query: checks.field,
  match: checks.field,
  topK: checks.field,
  filter: checks.params,
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
});

/** An entry of a KNOWLEDGE storage, as `addKnowledge` takes it. */
export interface NewEntry {
  /** Unique in the storage; an entry that has it is replaced. Absent: the server gives one. */
  readonly id?: string;
  readonly text: string;
  readonly metadata?: StorageHit['metadata'];
  /** Words, texts with symbols, or `/patterns/`, whose appearance in a query brings the entry, whatever its score. */
  readonly keys?: readonly string[];
  /** Whether every search brings it. */
  readonly always?: boolean;
}

/** An entry of a KNOWLEDGE storage, as `exportStorage` gives it. */
export type StoredEntry = Required<NewEntry>;
