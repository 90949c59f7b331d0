import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Fault } from '../../../protocol/fault.ts';
import { coalesced } from '../../../base/coalesced.ts';
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

/** Size, hash and commit of complete files, by path. Atomic and locked; rebuilt from the folder when it is lost. */
export type DownloadManifest = ReturnType<typeof downloadManifest>;

export function downloadManifest(folder: string) {
  const path = join(folder, 'downloads.json');
  const parse = async (): Promise<ReadonlyMap<string, FileRecord> | undefined> => {
    const manifest = readJsonText(await readTextIfFile(path), readManifest);
    return manifest && new Map(Object.entries(manifest.files));
  };
  return {
    /** All records; none when the manifest is lost or invalid, until the next update rebuilds it, or cannot be read now. */
    read: coalesced(
      async (): Promise<ReadonlyMap<string, FileRecord>> => (await parse().catch(() => undefined)) ?? new Map(),
    ),
    /**
     * Edits the records, and drops those whose files no longer exist. A manifest that cannot be read stays as it is.
     * @throws Fault DOWNLOAD_ALREADY_ACTIVE when another process keeps the lock for ten seconds; the signal's reason; the system's error.
     */
    async update(edit: (records: Map<string, FileRecord>) => void, lockWait: LockWait): Promise<void> {
      await makeFolder(folder);
      await using _ = await lockManifest(path, lockWait);
      const records = new Map((await parse()) ?? (await scanFolder(folder)));
      edit(records);
      for (const key of records.keys()) if (await isMissing(join(folder, key))) records.delete(key);
      const files = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
      await writeAtomic(path, `${JSON.stringify({ files }, undefined, 2)}\n`);
    },
  };
}

async function lockManifest(path: string, { wait, signal }: LockWait): Promise<Lock> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await acquireLock(path);
    } catch (error) {
      const isHeld = error instanceof Fault && error.name === 'DOWNLOAD_ALREADY_ACTIVE';
      if (!isHeld || attempts === maxLockAttempts) throw error;
      await wait(lockRetryMs, signal);
    }
  }
}

// A file gets its name only when it is complete (`PartialFile.commit`), so every model file in the folder counts.
async function scanFolder(folder: string): Promise<ReadonlyMap<string, FileRecord>> {
  const paths = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    if (!isNoFileError(error)) throw error;
    return [];
  });
  const records = new Map<string, FileRecord>();
  for (const path of paths) {
    const key = path.split(sep).join('/');
    const bytes = isModelKey(key) ? await fileSize(join(folder, path)) : undefined;
    if (bytes !== undefined) records.set(key, { bytes, sha256: '', commit: '', completed: '' });
  }
  return records;
}

const isMissing = (path: string): Promise<boolean> => stat(path).then((stats) => !stats.isFile(), isNoFileError);

// OWNER/NAME/FILE, and none of the files that a download has next to its target.
const isModelKey = (key: string): boolean =>
  key.split('/').length >= 3 && !/\.(?:part|part\.json|bad|new|lock(?:\.[\w-]+)?)$/.test(key);
