import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Fault } from '../../fault.ts';
import { makeFolder } from '../../filesystem.ts';
import { reader, type FromSchema, type ObjectSchema } from '../../schema.ts';
import { bytesOf, writeWhole } from './atomicFile.ts';
import { takeLock, type Lock } from './lockFile.ts';
import type { Persistence } from '../retry.ts';

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

const ledgerSchema = {
  type: 'object',
  required: ['files'],
  properties: { files: { type: 'object', additionalProperties: recordSchema } },
} as const satisfies ObjectSchema;

/** What is known of one downloaded file. */
export type FileRecord = FromSchema<typeof recordSchema>;

const readLedger = reader(ledgerSchema);
const lockTries = 100;
const lockWaitMs = 100;

/** The downloads.json of a models folder: what was completed there, by the path within the folder. */
export class Ledger {
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
  async change(edit: (records: Map<string, FileRecord>) => void, { wait, signal }: Waiting): Promise<void> {
    await makeFolder(this.#folder);
    await using _ = await this.#lock({ wait, signal });
    const records = new Map((await this.#parsed()) ?? (await this.#found()));
    edit(records);
    for (const key of records.keys()) if ((await bytesOf(join(this.#folder, key))) === undefined) records.delete(key);
    const files = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeWhole(this.#path, `${JSON.stringify({ files }, undefined, 2)}\n`);
  }

  async #lock({ wait, signal }: Waiting): Promise<Lock> {
    for (let tries = 1; ; tries++) {
      try {
        return await takeLock(this.#path);
      } catch (error) {
        const isHeld = error instanceof Fault && error.name === 'DOWNLOAD_ALREADY_ACTIVE';
        if (!isHeld || tries === lockTries) throw error;
        await wait(lockWaitMs, signal);
      }
    }
  }

  async #parsed(): Promise<ReadonlyMap<string, FileRecord> | undefined> {
    try {
      const reading = readLedger(JSON.parse(await readFile(this.#path, 'utf8')));
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
      const bytes = isModel(key) ? await bytesOf(join(this.#folder, path)) : undefined;
      if (bytes !== undefined) records.set(key, { bytes, sha256: '', commit: '', completed: '' });
    }
    return records;
  }
}

/** How a change waits for its turn. */
export interface Waiting {
  readonly wait: Persistence['wait'];
  readonly signal: AbortSignal;
}

const isModel = (key: string): boolean =>
  key.split('/').length >= 3 && !/\.(?:part|part\.json|bad|new|lock(?:\.[\w-]+)?)$/.test(key);
