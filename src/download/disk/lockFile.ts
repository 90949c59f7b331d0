import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { Fault } from '../../fault.ts';
import { makeFolder } from '../../filesystem.ts';
import { isAbandoned } from '../../ownership.ts';
import { createReader, type FromSchema, type ObjectSchema } from '../../schema.ts';

const holderSchema = {
  type: 'object',
  required: ['pid', 'host', 'token'],
  properties: { pid: { type: 'integer', minimum: 1 }, host: { type: 'string' }, token: { type: 'string' } },
} as const satisfies ObjectSchema;

/** Who holds a lock. */
export type Holder = FromSchema<typeof holderSchema>;

/** A file that one process at a time may work on; disposing of the lock lets the others. */
export interface Lock extends AsyncDisposable {
  /**
   * Makes sure that it is still ours, after a sleep of the machine for example.
   * @throws Fault DOWNLOAD_FAILED when it is not, and the system's error when nobody can tell.
   */
  check(): Promise<void>;
}

/** Reads the text of a file. */
type ReadText = (path: string) => Promise<string>;

const readText: ReadText = (path) => readFile(path, 'utf8');
const readHolder = createReader(holderSchema);
const heartbeatMs = 10_000;
// A holder on another machine, or one that crashed while its process number was given to another, is judged by this.
const staleAfterMs = 60_000;
const locksOfThisProcess = new Set<string>();

/** Takes the lock of a file. @throws Fault DOWNLOAD_ALREADY_ACTIVE that names the process that holds it. */
export async function acquireLock(file: string, read = readText): Promise<Lock> {
  const path = lockPath(file);
  const token = randomUUID();
  await makeFolder(dirname(path));
  for (;;) {
    if (await tryCreate(path, token)) return createLock(path, token, read);
    const holder = await readLockFile(file);
    if (holder.stale) await removeStale(path, holder.text);
    else if (holder.text !== undefined)
      throw new Fault('DOWNLOAD_ALREADY_ACTIVE', lockHeldMessage(file, holder.holder));
  }
}

/** Whether somebody works on a file at this moment; a lock that cannot be read is somebody's. */
export async function isLocked(file: string): Promise<boolean> {
  try {
    const { text, stale } = await readLockFile(file);
    return text !== undefined && !stale;
  } catch {
    return true;
  }
}

const lockPath = (file: string): string => `${file}.lock`;

async function tryCreate(path: string, token: string): Promise<boolean> {
  locksOfThisProcess.add(token);
  try {
    await writeFile(path, JSON.stringify({ pid: process.pid, host: hostname(), token } satisfies Holder), {
      flag: 'wx',
    });
    return true;
  } catch (error) {
    locksOfThisProcess.delete(token);
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

interface LockFileState {
  /** What stands in the lock; undefined = there is none. */
  readonly text: string | undefined;
  readonly holder: Holder | undefined;
  readonly stale: boolean;
}

async function readLockFile(file: string): Promise<LockFileState> {
  const path = lockPath(file);
  const [text, times] = await Promise.all([readFile(path, 'utf8'), stat(path)]).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  if (text === undefined || times === undefined) return { text: undefined, holder: undefined, stale: false };
  const holder = parseHolder(text);
  const idleMs = Date.now() - times.mtimeMs;
  if (!holder) return { text, holder, stale: idleMs > staleAfterMs };
  const isLeftover = (): boolean => !locksOfThisProcess.has(holder.token);
  return { text, holder, stale: isAbandoned({ ...holder, idleMs }, { staleAfterMs, isLeftover }) };
}

function parseHolder(text: string): Holder | undefined {
  try {
    const reading = readHolder(JSON.parse(text));
    return reading.ok ? reading.value : undefined;
  } catch {
    return undefined;
  }
}

// Two that find the same stale lock must not take away the fresh one that the quicker of them has made.
async function removeStale(path: string, stale: string | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    // Somebody else was quicker. What may not be moved now may not be moved the next time either.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if ((await readFile(aside, 'utf8')) !== stale) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

function createLock(path: string, token: string, read: ReadText): Lock {
  let [lost, beaten] = [false, Date.now()];
  const beat = async (): Promise<void> => {
    try {
      const text = await read(path).catch(undefinedIfAbsent);
      lost ||= parseHolder(text)?.token !== token;
      beaten = Date.now();
    } finally {
      if (!lost) await utimes(path, new Date(), new Date()).catch(() => undefined);
    }
  };
  // What cannot be read at this moment is not lost for that: `check` looks again when it has to know.
  const beatAnyway = (): Promise<void> => beat().catch(() => undefined);
  const timer = setInterval(() => void beatAnyway(), heartbeatMs).unref();
  return {
    async check() {
      if (!lost && Date.now() - beaten > staleAfterMs / 2) await beat();
      if (lost) throw new Fault('DOWNLOAD_FAILED', `another process took over the lock ${path}; ask it, or try again`);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await beatAnyway();
      locksOfThisProcess.delete(token);
      if (!lost) await rm(path, { force: true });
    },
  };
}

function undefinedIfAbsent(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}

function lockHeldMessage(file: string, holder: Holder | undefined): string {
  const who =
    holder === undefined
      ? 'another process'
      : holder.host !== hostname()
        ? `process ${holder.pid} on ${holder.host}`
        : holder.pid === process.pid
          ? 'this process'
          : `process ${holder.pid}`;
  return `${who} works on ${file} already; wait for it, or end it (its lock is ${lockPath(file)})`;
}
