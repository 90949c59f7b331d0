import { randomUUID } from 'node:crypto';
import { link, lstat, lutimes, open, readFile, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { Fault } from '../../../protocol/fault.ts';
import { makeFolder } from '../../../base/filesystem.ts';
import { isAbandoned } from '../../../base/ownership.ts';
import { createReader, type FromSchema, type ObjectSchema, readJsonText } from '../../../protocol/schema.ts';

const holderSchema = {
  type: 'object',
  required: ['pid', 'host', 'token'],
  properties: { pid: { type: 'integer', minimum: 1 }, host: { type: 'string' }, token: { type: 'string' } },
} as const satisfies ObjectSchema;

/** The process that holds a lock: the content of the lock file. The token is unique for each lock. */
type LockHolder = FromSchema<typeof holderSchema>;

/** A lock that is held. Disposing of it deletes the lock file. */
export interface Lock extends AsyncDisposable {
  /** Checks that the lock is still ours after a sleep. @throws Fault DOWNLOAD_FAILED when it is lost; system errors. */
  check(): Promise<void>;
}

type ReadText = (path: string) => Promise<string>;

const readText: ReadText = (path) => readFile(path, 'utf8');
const readHolder = createReader(holderSchema);
const heartbeatMs = 10_000;
// For holders that cannot be checked by process id: on another host, or crashed before the id was reused.
const staleAfterMs = 60_000;
const tokensOfThisProcess = new Set<string>();

/**
 * Acquires the lock file of a file (`FILE.lock`), so that one process at a time works on it. A heartbeat touches the lock
 * file while it is held; a stale one is removed. The first row that applies decides:
 *
 * | lock file | stale |
 * | --- | --- |
 * | without a heartbeat for `staleAfterMs` | yes |
 * | of another host | no |
 * | of this host, its process does not run | yes |
 * | with the id of this process, but of no lock of this process | yes: the id was reused |
 * | with invalid content | no: it may be being written |
 * | a symbolic link, which is never followed | yes |
 *
 * @param read reads the lock file at a heartbeat and at a check; for tests.
 * @throws Fault DOWNLOAD_ALREADY_ACTIVE that names the process that holds it; the system's error.
 */
export async function acquireLock(file: string, read = readText): Promise<Lock> {
  const path = lockPath(file);
  const token = randomUUID();
  await makeFolder(dirname(path));
  for (;;) {
    if (await tryCreate(path, token)) return createLock(path, token, read);
    const { text, holder, isStale } = await readLockFile(file);
    if (isStale) await removeStale(path, text);
    else if (text !== undefined) throw new Fault('DOWNLOAD_ALREADY_ACTIVE', lockHeldMessage(file, holder));
  }
}

/** Whether a process works on a file now; true when the lock file cannot be read. */
export const isLocked = (file: string): Promise<boolean> =>
  readLockFile(file).then(
    ({ text, isStale }) => text !== undefined && !isStale,
    () => true,
  );

const lockPath = (file: string): string => `${file}.lock`;

async function tryCreate(path: string, token: string): Promise<boolean> {
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!file) return false;
  tokensOfThisProcess.add(token);
  try {
    await file.writeFile(JSON.stringify({ pid: process.pid, host: hostname(), token } satisfies LockHolder));
    return true;
  } catch (error) {
    tokensOfThisProcess.delete(token);
    // On a full disk: an empty lock file would count as one of another process.
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

/** @returns a text that is undefined when there is no lock file, and a holder that is undefined when its content is invalid. */
async function readLockFile(file: string) {
  const path = lockPath(file);
  const stats = await lstat(path).catch(undefinedIfMissing);
  if (stats?.isSymbolicLink()) return { text: undefined, holder: undefined, isStale: true };
  const text = await readFile(path, 'utf8').catch(undefinedIfMissing);
  if (text === undefined || stats === undefined) return { text: undefined, holder: undefined, isStale: false };
  const holder = readJsonText(text, readHolder);
  const idleMs = Date.now() - stats.mtimeMs;
  if (!holder) return { text, holder, isStale: idleMs > staleAfterMs };
  const isLeftover = (): boolean => !tokensOfThisProcess.has(holder.token);
  return { text, holder, isStale: isAbandoned({ ...holder, idleMs }, { staleAfterMs, isLeftover }) };
}

// Two processes may find the same stale lock: the slower one must not delete the new lock of the quicker one. So the lock
// file is first renamed, which only one of them can do, and linked back when it turns out to be the new one.
async function removeStale(path: string, staleText: string | undefined): Promise<void> {
  // A lock of this process that was released after it was read is no leftover, and its place may be taken by now.
  if (staleText !== undefined && (await readText(path).catch(undefinedIfMissing)) !== staleText) return;
  const renamed = `${path}.${randomUUID()}`;
  try {
    await rename(path, renamed);
  } catch (error) {
    // ENOENT: another process was quicker. Any other error would come again at the next attempt.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const isLink = (await lstat(renamed)).isSymbolicLink();
  if (!isLink && (await readFile(renamed, 'utf8')) !== staleText) await link(renamed, path).catch(() => undefined);
  await rm(renamed, { force: true });
}

function createLock(path: string, token: string, read: ReadText): Lock {
  let [isLost, lastHeartbeatAt] = [false, Date.now()];
  const heartbeat = async (): Promise<void> => {
    try {
      const text = await read(path).catch(undefinedIfMissing);
      isLost ||= readJsonText(text ?? '', readHolder)?.token !== token;
      lastHeartbeatAt = Date.now();
    } finally {
      if (!isLost) await lutimes(path, new Date(), new Date()).catch(() => undefined);
    }
  };
  // A lock file that cannot be read now is not lost for that: `check` reads it again when it matters.
  const tryHeartbeat = (): Promise<void> => heartbeat().catch(() => undefined);
  const timer = setInterval(() => void tryHeartbeat(), heartbeatMs).unref();
  return {
    async check() {
      if (!isLost && Date.now() - lastHeartbeatAt > staleAfterMs / 2) await heartbeat();
      if (isLost)
        throw new Fault('DOWNLOAD_FAILED', `another process took over the lock ${path}; ask it, or try again`);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await tryHeartbeat();
      // Forgotten before, the lock file would be stale while it is deleted: its place could be taken, and that lock deleted.
      if (!isLost) await rm(path, { force: true }).catch(() => undefined);
      // From now on a lock file that could not be deleted is stale. The error would hide that of the work.
      tokensOfThisProcess.delete(token);
    },
  };
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function lockHeldMessage(file: string, holder: LockHolder | undefined): string {
  const place = holder && holder.host !== hostname() ? ` on ${holder.host}` : '';
  const isOurs = holder?.pid === process.pid && place === '';
  const who = !holder ? 'another process' : isOurs ? 'this process' : `process ${holder.pid}${place}`;
  return `${who} works on ${file} already; wait for it, or end it (its lock is ${lockPath(file)})`;
}
