import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Fault } from '../../../protocol/fault.ts';
import { isNoFileError, makeFolder, readTextIfFile, writeAtomic } from '../../../base/filesystem.ts';
import { createReader, readJsonText, type FromSchema, type ObjectSchema } from '../../../protocol/schema.ts';
import { integer, string } from '../../../protocol/schemaBuilders.ts';
import type { RetryPolicy } from '../retry.ts';
import { acquireLock, type Lock } from './lockFile.ts';
import { fileSize } from './modelFile.ts';

const recordSchema = {
  type: 'object',
  required: ['bytes', 'sha256'],
  properties: {
    bytes: integer({ minimum: 0 }, 'Size of the file.'),
    sha256: string('Hash of the file; "" = not known.'),
    commit: string({ default: '' }, 'Commit of the repository that it came from; "" = not known.'),
    completed: string({ default: '' }, 'When it was completed; "" = not known.'),
  },
} as const satisfies ObjectSchema;

const manifestSchema = {
  type: 'object',
  required: ['files'],
  properties: { files: { type: 'object', additionalProperties: recordSchema } },
} as const satisfies ObjectSchema;

/** What the manifest records of one complete file. */
export type FileRecord = FromSchema<typeof recordSchema>;

/** How a change of the manifest waits for its lock file. */
export interface LockWait {
  readonly wait: RetryPolicy['wait'];
  readonly signal: AbortSignal;
}

const readManifest = createReader(manifestSchema);
const maxLockAttempts = 100;
const lockRetryMs = 100;

/**
 * Manifest of a models folder: `downloads.json`, with the size, hash and commit of every complete file by its path within
 * the folder. Written atomically, by one process at a time (lock file); rebuilt from the folder when it is lost or invalid.
 */
export class DownloadManifest {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, 'downloads.json');
  }

  /** All records; none when the manifest is lost or invalid, until the next update rebuilds it, or cannot be read now. */
  async read(): Promise<ReadonlyMap<string, FileRecord>> {
    return (await this.#parse().catch(() => undefined)) ?? new Map();
  }

  /**
   * Edits the records, and drops those whose files no longer exist. A manifest that cannot be read stays as it is.
   * @throws Fault DOWNLOAD_ALREADY_ACTIVE when another process keeps the lock for ten seconds; the signal's reason; the system's error.
   */
  async update(edit: (records: Map<string, FileRecord>) => void, { wait, signal }: LockWait): Promise<void> {
    await makeFolder(this.#folder);
    await using _ = await this.#lock({ wait, signal });
    const records = new Map((await this.#parse()) ?? (await this.#scanFolder()));
    edit(records);
    for (const key of records.keys()) if (await isMissing(join(this.#folder, key))) records.delete(key);
    const files = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeAtomic(this.#path, `${JSON.stringify({ files }, undefined, 2)}\n`);
  }

  async #lock({ wait, signal }: LockWait): Promise<Lock> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await acquireLock(this.#path);
      } catch (error) {
        const isHeld = error instanceof Fault && error.name === 'DOWNLOAD_ALREADY_ACTIVE';
        if (!isHeld || attempts === maxLockAttempts) throw error;
        await wait(lockRetryMs, signal);
      }
    }
  }

  async #parse(): Promise<ReadonlyMap<string, FileRecord> | undefined> {
    const manifest = readJsonText(await readTextIfFile(this.#path), readManifest);
    return manifest && new Map(Object.entries(manifest.files));
  }

  // A file gets its name only when it is complete (`PartialFile.commit`), so every model file in the folder counts.
  async #scanFolder(): Promise<ReadonlyMap<string, FileRecord>> {
    const paths = await readdir(this.#folder, { recursive: true }).catch((error: unknown) => {
      if (!isNoFileError(error)) throw error;
      return [];
    });
    const records = new Map<string, FileRecord>();
    for (const path of paths) {
      const key = path.split(sep).join('/');
      const bytes = isModelKey(key) ? await fileSize(join(this.#folder, path)) : undefined;
      if (bytes !== undefined) records.set(key, { bytes, sha256: '', commit: '', completed: '' });
    }
    return records;
  }
}

const isMissing = (path: string): Promise<boolean> => stat(path).then((stats) => !stats.isFile(), isNoFileError);

// OWNER/NAME/FILE, and none of the files that a download has next to its target.
const isModelKey = (key: string): boolean =>
  key.split('/').length >= 3 && !/\.(?:part|part\.json|bad|new|lock(?:\.[\w-]+)?)$/.test(key);
