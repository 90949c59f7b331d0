import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../../../filesystem.ts';
import { isAbandoned } from '../../../ownership.ts';

/** A file for a state, with room set apart for it. */
export interface StateFile {
  readonly file: string;
  /** The file is written and has so many bytes: from now on it may have to make room for others. */
  commit(bytes: number): void;
  /** The file is being read: it stays until it is dropped. */
  read(): void;
  /** Gives the room back and removes the file. */
  drop(): Promise<void>;
}

interface StoredFile {
  bytes: number;
  inUse: boolean;
  readonly drop: () => Promise<void>;
}

/**
 * The files of one engine's states: in a folder of its own that nobody else may read, within a limit of bytes, gone when
 * the engine goes. What a process that was killed has left is removed by the next one.
 */
export class StateStore implements AsyncDisposable {
  readonly #parent: string;
  readonly #folder: string;
  readonly #limit: number;
  readonly #entries = new Set<StoredFile>();
  readonly #swept: Promise<void>;
  #made: Promise<void> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #files = 0;

  /** @param cache folder in which all engines have theirs; @param limitBytes of all files together. */
  constructor(cache: string, limitBytes: number) {
    this.#parent = join(cache, 'states');
    this.#folder = join(this.#parent, `${safeHostname()}-${process.pid}-${randomBytes(6).toString('hex')}`);
    this.#limit = limitBytes;
    // What is not removed now is removed another time.
    this.#swept = sweep(this.#parent).catch(() => undefined);
  }

  /** Bytes of all states, those included that are being written. */
  get bytes(): number {
    return totalBytes([...this.#entries]);
  }

  /**
   * Sets room apart for a state, at the cost of the states that have lain longest.
   * @returns undefined when there is no such room.
   * @throws when the folder cannot be made.
   */
  async reserve(bytes: number, onDrop: () => void): Promise<StateFile | undefined> {
    const lying = [...this.#entries].filter(({ inUse }) => !inUse);
    if (this.bytes - totalBytes(lying) + bytes > this.#limit) return undefined;
    const file = join(this.#folder, `${++this.#files}.state`);
    const entry: StoredFile = { bytes, inUse: true, drop: () => this.#drop(entry, file, onDrop) };
    this.#entries.add(entry);
    await (this.#made ??= this.#make()).catch((error: unknown) => {
      this.#made = undefined;
      this.#entries.delete(entry);
      throw error;
    });
    for (const oldest of lying) {
      if (this.bytes <= this.#limit) break;
      if (!oldest.inUse) await oldest.drop();
    }
    if (this.bytes > this.#limit) {
      this.#entries.delete(entry);
      return undefined;
    }
    const written = (size: number): void => void Object.assign(entry, { bytes: size, inUse: false });
    return { file, commit: written, read: () => void (entry.inUse = true), drop: entry.drop };
  }

  /** Makes the folder anew before the next state: it may be that somebody has removed it. */
  recreate(): void {
    clearInterval(this.#heartbeat);
    this.#made = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#swept;
    this.#entries.clear();
    // What cannot be removed is removed by the next process.
    if (this.#made) await rm(this.#folder, { recursive: true, force: true }).catch(() => undefined);
  }

  async #make(): Promise<void> {
    await this.#swept;
    await makeFolder(this.#folder, 0o700);
    const beat = (): void => void utimes(this.#folder, new Date(), new Date()).catch(() => undefined);
    this.#heartbeat = setInterval(beat, heartbeatMs).unref();
  }

  async #drop(entry: StoredFile, file: string, onDrop: () => void): Promise<void> {
    if (!this.#entries.delete(entry)) return;
    onDrop();
    // What cannot be removed now goes with the folder.
    await rm(file, { force: true }).catch(() => undefined);
  }
}

const totalBytes = (entries: readonly StoredFile[]): number => entries.reduce((total, { bytes }) => total + bytes, 0);

/** Removes the folders of processes that are gone. */
async function sweep(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const abandoned = await Promise.all(names.map(async (name) => (await isFolderAbandoned(parent, name)) && name));
  await Promise.all(abandoned.map((name) => name && rm(join(parent, name), { recursive: true, force: true })));
}

/** Whether the folder of an engine process is abandoned: see `isAbandoned`. */
async function isFolderAbandoned(parent: string, name: string): Promise<boolean> {
  const [, host, pid] = /^(.*)-(\d+)-[0-9a-f]{12}$/.exec(name) ?? [];
  if (host === undefined || pid === undefined) return false;
  const { mtimeMs } = await stat(join(parent, name)).catch(() => ({ mtimeMs: Date.now() }));
  const idleMs = Date.now() - mtimeMs;
  return isAbandoned(
    { host, pid: Number(pid), idleMs },
    {
      staleAfterMs: abandonedAfterMs,
      thisHost: safeHostname(),
      isLeftover: () => idleMs > process.uptime() * 1000 + clockErrorMs,
    },
  );
}

const safeHostname = (): string => hostname().replaceAll(/[^\w.-]/g, '_');
const heartbeatMs = 3_600_000;
const abandonedAfterMs = 24 * heartbeatMs;
const clockErrorMs = 1000;
