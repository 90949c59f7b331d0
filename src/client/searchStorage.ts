import type { Connection } from './connection.ts';
import { checks, optionsCheck } from './options.ts';
import { readJson } from './responses.ts';
import { documentText } from '../protocol/codec/requestFrame.ts';

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
