import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Fault } from '../../fault.ts';
import { makeFolder } from '../../filesystem.ts';
import { createReader, type FromSchema, type ObjectSchema } from '../../schema.ts';
import { writeAtomic } from '../../filesystem.ts';
import { fileSize } from './modelFile.ts';
import { acquireLock, type Lock } from './lockFile.ts';
import type { RetryPolicy } from '../retry.ts';

const recordSchema = {
  type: 'object',
  required: ['bytes', 'sha256'],
  properties: {
    bytes: { type: 'integer', minimum: 0, description: 'Size of the file.' },
    sha256: { type: 'string', description: 'Hash of the file; "" = not known.' },
    commit: { type: 'string', default: '', description: 'Commit of the repository that it came from; "" = not known.' },
    completed: { type: 'string', default: '', description: 'When it was completed; "" = not known.' },
  },
} as const satisfies ObjectSchema;

const manifestSchema = {
  type: 'object',
  required: ['files'],
  properties: { files: { type: 'object', additionalProperties: recordSchema } },
} as const satisfies ObjectSchema;

/** What is known of one downloaded file. */
export type FileRecord = FromSchema<typeof recordSchema>;

const parseManifest = createReader(manifestSchema);
const maxLockAttempts = 100;
const lockWaitMs = 100;

/** The downloads.json of a models folder: what was completed there, by the path within the folder. */
export class DownloadManifest {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, 'downloads.json');
  }

  /** All records; none when the file is lost or broken, until the next change builds it anew. */
  async read(): Promise<ReadonlyMap<string, FileRecord>> {
    return (await this.#parsed()) ?? new Map();
  }

  /** Changes the records, one process at a time; records of files that are gone go too. */
  async update(edit: (records: Map<string, FileRecord>) => void, { wait, signal }: LockWait): Promise<void> {
    await makeFolder(this.#folder);
    await using _ = await this.#lock({ wait, signal });
    const records = new Map((await this.#parsed()) ?? (await this.#found()));
    edit(records);
    for (const key of records.keys()) if ((await fileSize(join(this.#folder, key))) === undefined) records.delete(key);
    const files = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeAtomic(this.#path, `${JSON.stringify({ files }, undefined, 2)}\n`);
  }

  async #lock({ wait, signal }: LockWait): Promise<Lock> {
    for (let maxAttempts = 1; ; maxAttempts++) {
      try {
        return await acquireLock(this.#path);
      } catch (error) {
        const isHeld = error instanceof Fault && error.name === 'DOWNLOAD_ALREADY_ACTIVE';
        if (!isHeld || maxAttempts === maxLockAttempts) throw error;
        await wait(lockWaitMs, signal);
      }
    }
  }

  async #parsed(): Promise<ReadonlyMap<string, FileRecord> | undefined> {
    try {
      const reading = parseManifest(JSON.parse(await readFile(this.#path, 'utf8')));
      return reading.ok ? new Map(Object.entries(reading.value.files)) : undefined;
    } catch {
      return undefined;
    }
  }

  // A file has its name only once it is whole, so what lies there was completed.
  async #found(): Promise<ReadonlyMap<string, FileRecord>> {
    const paths = await readdir(this.#folder, { recursive: true }).catch(() => []);
    const records = new Map<string, FileRecord>();
    for (const path of paths) {
      const key = path.split(sep).join('/');
      const bytes = isModel(key) ? await fileSize(join(this.#folder, path)) : undefined;
      if (bytes !== undefined) records.set(key, { bytes, sha256: '', commit: '', completed: '' });
    }
    return records;
  }
}

/** How a change waits for its turn. */
export interface LockWait {
  readonly wait: RetryPolicy['wait'];
  readonly signal: AbortSignal;
}

const isModel = (key: string): boolean =>
  key.split('/').length >= 3 && !/\.(?:part|part\.json|bad|new|lock(?:\.[\w-]+)?)$/.test(key);
