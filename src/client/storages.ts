import type { Connection } from './connection.ts';
import { checks, optionsCheck } from './options.ts';
import { readJson } from './toolCall.ts';
import { documentText } from '../protocol/codec/json.ts';

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

const checkOptions = optionsCheck<SearchStorageOptions>('searchStorage', {
  name: checks.field,
  query: checks.field,
  match: checks.field,
  topK: checks.field,
  filter: checks.params,
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
});

/** Searches a storage. @throws Fault as `Client.searchStorage` does. */
export async function searchStorage(connection: Connection, options: SearchStorageOptions): Promise<StorageHits> {
  checkOptions(options);
  const { filter, signal, timeoutMs, ...fields } = options;
  const filterJson = filter === undefined ? '' : documentText(filter, 'searchStorage.filter');
  const parts: string[] = [];
  const { found } = await connection.request(
    'searchStorage',
    { ...fields, filterJson },
    {
      signal,
      timeoutMs,
      onFrame: (frame) => frame.body === 'searchStorage' && parts.push(frame.searchStorage.hitsJson),
    },
  );
  return { hits: readJson(parts.join(''), 'hitsJson') as readonly StorageHit[], found };
}

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

/** Adds entries to a storage. @throws Fault as `Client.addKnowledge` does. */
export async function addKnowledge(connection: Connection, storage: string, entries: readonly NewEntry[]) {
  checks.string(storage, 'addKnowledge.storage');
  checks.list(entries, 'addKnowledge.entries');
  // The frame turns metadata into their text.
  return connection.request('addKnowledge', { storage, entries: entries as never });
}

/** Exports the entries of a storage. @throws Fault as `Client.exportStorage` does. */
export async function exportStorage(connection: Connection, storage: string): Promise<readonly StoredEntry[]> {
  checks.string(storage, 'exportStorage.storage');
  const entries: StoredEntry[] = [];
  await connection.request(
    'exportStorage',
    { storage },
    {
      onFrame(frame) {
        for (const { metadataJson, ...entry } of frame.body === 'exportStorage' ? frame.exportStorage.entries : [])
          entries.push({
            ...entry,
            metadata: readJson(metadataJson || '{}', 'metadataJson') as StoredEntry['metadata'],
          });
      },
    },
  );
  return entries;
}
