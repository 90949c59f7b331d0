import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../../../base/filesystem.ts';
import { isAbandoned } from '../../../base/ownership.ts';
import { DiskQuota, type QuotaFile } from '../../../base/diskCache.ts';
import type { StateFile, StateFiles } from './stateFiles.ts';

/**
 * Disk store with a quota for one engine's KV states: when it is full, the oldest states are evicted. The files are in a
 * folder per engine that other users cannot read (they hold conversations); it is removed when the store is disposed.
 * Folders that killed processes left are removed by the next store.
 */
export class StateStore implements StateFiles, AsyncDisposable {
  readonly #parent: string;
  readonly #folder: string;
  readonly #quota: DiskQuota;
  readonly #files = new Map<string, QuotaFile>();
  readonly #onWriteError: (error: unknown) => void;
  readonly #swept: Promise<void>;
  #folderReady: Promise<void> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #fileCount = 0;
  #wasCreated = false;

  /**
   * @param cache folder with the folders of all engines.
   * @param quota of the files, or its bytes.
   * @param onWriteError receives the error when a state could not be written.
   */
  constructor(cache: string, quota: number | DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    this.#parent = join(cache, 'states');
    this.#folder = join(this.#parent, `${safeHostname()}-${process.pid}-${randomBytes(6).toString('hex')}`);
    this.#quota = typeof quota === 'number' ? new DiskQuota(quota) : quota;
    this.#onWriteError = onWriteError;
    // The next store tries again to remove what cannot be removed now.
    this.#swept = sweep(this.#parent).catch(() => undefined);
  }

  /** Bytes of all states, including the space reserved for those being written. */
  get bytes(): number {
    return this.#quota.bytes;
  }

  async reserve(bytes: number, onDrop: () => void): Promise<StateFile | undefined> {
    const path = join(this.#folder, `${++this.#fileCount}.state`);
    const forget = (): void => {
      this.#files.delete(path);
      onDrop();
    };
    const file = await this.#quota.add({ paths: [path], bytes, inUse: true, onDrop: forget });
    if (!file) return undefined;
    await (this.#folderReady ??= this.#createFolder()).catch((error: unknown) => {
      this.#folderReady = undefined;
      this.#quota.delete(file);
      throw error;
    });
    this.#files.set(path, file);
    return {
      path,
      commit: (size) => void Object.assign(file, { bytes: size, inUse: false }),
      beginRead: () => void (file.inUse = true),
      drop: file.drop,
    };
  }

  // The folder may have been removed from outside.
  writeFailed(error: unknown): void {
    clearInterval(this.#heartbeat);
    this.#folderReady = undefined;
    this.#onWriteError(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#swept;
    for (const file of this.#files.values()) this.#quota.delete(file);
    this.#files.clear();
    // What cannot be removed is removed by the next store.
    if (this.#wasCreated) await rm(this.#folder, { recursive: true, force: true }).catch(() => undefined);
  }

  async #createFolder(): Promise<void> {
    await this.#swept;
    await makeFolder(this.#folder, 0o700);
    this.#wasCreated = true;
    const touch = (): void => void utimes(this.#folder, new Date(), new Date()).catch(() => undefined);
    this.#heartbeat = setInterval(touch, heartbeatMs).unref();
  }
}

/** Removes the folders of processes that no longer run. */
async function sweep(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const abandoned = await Promise.all(names.map(async (name) => (await isFolderAbandoned(parent, name)) && name));
  await Promise.all(abandoned.map((name) => name && rm(join(parent, name), { recursive: true, force: true })));
}

/** Whether an engine's folder is abandoned: see `isAbandoned`. */
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
      isLeftover: () => idleMs > process.uptime() * 1000 + clockToleranceMs,
    },
  );
}

const safeHostname = (): string => hostname().replaceAll(/[^\w.-]/g, '_');
const heartbeatMs = 3_600_000;
const abandonedAfterMs = 24 * heartbeatMs;
const clockToleranceMs = 1000;
