import { DiskQuota, type QuotaFile, DiskCache } from '../../base/diskCache.ts';
import { randomBytes, createHash, createCipheriv } from 'node:crypto';
import { readdir, rm, stat, utimes, chmod, readFile, rename, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, dirname } from 'node:path';
import { makeFolder, writeAtomic } from '../../base/filesystem.ts';
import { isAbandoned } from '../../base/ownership.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import { createReader, type FromSchema, type ObjectSchema, readJsonText } from '../../protocol/schema.ts';
import { integer, string } from '../../protocol/schemaBuilders.ts';

/** The cache folder of an engine. What is in it can be deleted at any time. */
export interface CacheFolderOptions {
  /** Folder of swapped KV states, the prompt cache and thread benchmarks. */
  readonly folder: string;
  /** Quota of KV states and the prompt cache together; 0 = neither is written to disk. */
  readonly maxStateBytes: number;
  /** The quota of these bytes, where other stores share it; default: one of its own. */
  readonly quota?: DiskQuota;
  /** Receives the error when a KV state could not be written. */
  readonly onStateError?: (error: unknown) => void;
}

/** What a llama.cpp engine writes to disk apart from its thread benchmarks. */
export interface CacheFiles extends Partial<AsyncDisposable> {
  readonly states: StateFiles;
  readonly prompts: PromptFiles;
}

export function openCacheFiles(options: CacheFolderOptions): CacheFiles & AsyncDisposable {
  const { folder, maxStateBytes, quota = new DiskQuota(maxStateBytes), onStateError } = options;
  const states = new StateStore(folder, quota, onStateError);
  const prompts = new PromptStore(folder, quota, onStateError);
  return { states, prompts, [Symbol.asyncDispose]: () => states[Symbol.asyncDispose]() };
}

/**
 * Disk store with a quota for one engine's KV states: when it is full, the oldest states are evicted. The files are in a
 * folder per engine that other users cannot read (they hold conversations); it is removed when the store is disposed.
 * Folders that killed processes left are removed by the next store.
 */
export class StateStore implements AsyncDisposable {
  readonly #folder: string;
  readonly #quota: DiskQuota;
  readonly #files = new Map<string, QuotaFile>();
  readonly #onWriteError: (error: unknown) => void;
  readonly #swept: Promise<void>;
  #folderReady: Promise<void> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #fileCount = 0;

  /** @param cache folder with the folders of all engines. @param onWriteError receives the error of a failed write. */
  constructor(cache: string, quota: DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    const parent = join(cache, 'states');
    this.#folder = join(parent, `${safeHostname()}-${process.pid}-${randomBytes(6).toString('hex')}`);
    this.#quota = quota;
    this.#onWriteError = onWriteError;
    // The next store tries again to remove what cannot be removed now.
    this.#swept = sweep(parent).catch(() => undefined);
  }

  /** Reserves space, evicting the oldest unused states. @param onDrop of the file. @returns undefined: no quota. */
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
      // An engine process is told the message of a Fault only.
      throw new Fault('INTERNAL', describeError(error), { cause: error });
    });
    this.#files.set(path, file);
    return {
      path,
      commit: (size) => void Object.assign(file, { bytes: size, inUse: false }),
      beginRead: () => void (file.inUse = true),
      drop: file.drop,
    };
  }

  /** A state could not be written: reports it, and creates the folder again, which may be gone, before the next one. */
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
    await rm(this.#folder, { recursive: true, force: true }).catch(() => undefined);
  }

  async #createFolder(): Promise<void> {
    await this.#swept;
    await makeFolder(this.#folder, 0o700);
    const touch = (): void => void utimes(this.#folder, new Date(), new Date()).catch(() => undefined);
    this.#heartbeat = setInterval(touch, heartbeatMs).unref();
  }
}

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

const headerSchema = {
  type: 'object',
  required: ['version', 'key', 'tokens', 'bytes', 'checksum'],
  properties: {
    version: { enum: [2] },
    key: { type: 'string' },
    tokens: { type: 'array', items: { type: 'integer' } },
    bytes: integer('Of the file of the state.'),
    checksum: string('Of the file of the state: see `fileChecksum`.'),
  },
} as const satisfies ObjectSchema;

/** The header of a saved prompt: a JSON file with the name of that of the state. */
type PromptHeader = FromSchema<typeof headerSchema>;

const readHeader = createReader(headerSchema);

/**
 * The prompt cache on disk: the states of the heads of prompts, kept over restarts in the folder `prompts` of the cache folder.
 * Each is a file of llama.cpp (`ID.state`) and a header (`ID.json`) with the checksum of that file, which is compared before it
 * is read.
 */
export class PromptStore {
  readonly #onWriteError: (error: unknown) => void;
  readonly #cache: DiskCache<{ readonly header: PromptHeader; readers: number }>;
  #saved: Promise<SavedPrompt | undefined> = Promise.resolve(undefined);

  /** @param cache the cache folder. */
  constructor(cache: string, quota: DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    this.#onWriteError = onWriteError;
    this.#cache = new DiskCache({
      folder: join(cache, 'prompts'),
      quota,
      extensions: ['json', 'state'],
      read: async (id) => {
        const header = readJsonText(await readFile(this.#cache.pathOf(id), 'utf8').catch(() => ''), readHeader);
        const file = await stat(this.#cache.pathOf(id, 'state')).catch(() => undefined);
        if (!header || promptId(header) !== id || header.bytes !== file?.size) return undefined;
        return foundPrompt(header);
      },
    });
  }

  async list(key: string): Promise<readonly SavedPrompt[]> {
    await this.#cache.scan();
    return [...this.#cache.entries]
      .filter(([, { content }]) => content.header.key === key)
      .map(([id, { content }]) => savedPrompt(id, content.header));
  }

  /**
   * Takes over the file of a prompt's state, unless it is saved already; undefined: it cannot be kept. One after the other: two
   * engine processes may save the same prompt.
   */
  save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined> {
    return (this.#saved = this.#saved.then(() => this.#save(prompt, file)));
  }

  async #save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined> {
    const id = promptId(prompt);
    let isPlaced = false;
    try {
      // Another server may have saved it since: it would find its file exchanged, and delete it.
      await this.#cache.scan();
      const existing = this.#cache.entries.get(id);
      if (existing) return savedPrompt(id, existing.content.header);
      const { size: bytes } = await stat(file.path);
      const header: PromptHeader = { version: 2, ...prompt, bytes, checksum: await fileChecksum(file.path) };
      await makeFolder(dirname(this.#cache.pathOf(id)), 0o700);
      await chmod(file.path, 0o600);
      await rename(file.path, this.#cache.pathOf(id, 'state'));
      isPlaced = true;
      await writeAtomic(this.#cache.pathOf(id), JSON.stringify(header));
      await chmod(this.#cache.pathOf(id), 0o600);
      await file.drop();
      if (await this.#cache.add(id, foundPrompt(header))) return savedPrompt(id, header);
    } catch (failure) {
      this.#onWriteError(failure);
    }
    if (isPlaced) await this.#cache.remove(id);
    return undefined;
  }

  /** Checks a file before it is read, and keeps it until it is closed; undefined: gone, or changed and deleted. */
  async open(id: string): Promise<string | undefined> {
    const entry = this.#cache.entries.get(id);
    if (!entry) return undefined;
    entry.content.readers++;
    entry.inUse = true;
    const path = this.#cache.pathOf(id, 'state');
    const isSame = (await fileChecksum(path).catch(() => '')) === entry.content.header.checksum;
    if (!isSame) return void (await entry.drop());
    await this.#cache.touch(id);
    return path;
  }

  /** @param isUsable false: the file is deleted. */
  async close(id: string, isUsable: boolean): Promise<void> {
    const entry = this.#cache.entries.get(id);
    if (!entry) return;
    entry.content.readers--;
    entry.inUse = entry.content.readers > 0;
    if (!isUsable) await entry.drop();
  }
}

const foundPrompt = (header: PromptHeader) => ({ bytes: header.bytes, content: { header, readers: 0 } });

const savedPrompt = (id: string, { tokens, bytes }: PromptHeader): SavedPrompt => ({ id, tokens, bytes });

/** The name of a saved prompt: two prompts of the same key and tokens have the same. */
const promptId = ({ key, tokens }: Pick<PromptHeader, 'key' | 'tokens'>): string =>
  createHash('sha256')
    .update(JSON.stringify([key, tokens]))
    .digest('hex');

/** A file for one KV state, with disk space reserved for it. It starts in use: an unfinished write is never evicted. */
export interface StateFile {
  readonly path: string;
  /** The file is written and has this size: from now on it may be evicted to make room for others. */
  commit(bytes: number): void;
  /** The file is about to be read: it is not evicted until it is dropped. */
  beginRead(): void;
  /** Releases the reserved space and removes the file. */
  drop(): Promise<void>;
}

/** Where KV states are written: files with a quota. */
export type StateFiles = Pick<StateStore, 'reserve' | 'writeFailed'>;

/** The state of the head of prompts, on disk. */
export interface SavedPrompt {
  readonly id: string;
  /** The tokens that the state is of. */
  readonly tokens: readonly number[];
  readonly bytes: number;
}

export interface NewPrompt extends Pick<SavedPrompt, 'tokens'> {
  /** What the state depends on apart from its tokens: the model, the engine and their settings. */
  readonly key: string;
}

/** The store as an engine process sees it, too. */
export type PromptFiles = Pick<PromptStore, 'list' | 'save' | 'open' | 'close'>;

/**
 * The checksum of a file: GMAC, the tag of AES-GCM, with a constant key. It finds all damage that a hash finds, and CPUs have
 * instructions for it: 35 MB take 11 ms to read and check, and 60 ms with SHA-256. Who writes a file on purpose can also write
 * its checksum; that is true of a hash as well.
 * @throws the system's error when the file cannot be read.
 */
export async function fileChecksum(path: string): Promise<string> {
  const gmac = createCipheriv('aes-128-gcm', Buffer.alloc(keyBytes), Buffer.alloc(nonceBytes));
  const chunk = Buffer.allocUnsafe(chunkBytes);
  await using file = await open(path);
  for (let read = await file.read(chunk); read.bytesRead > 0; read = await file.read(chunk))
    gmac.setAAD(chunk.subarray(0, read.bytesRead));
  gmac.final();
  return gmac.getAuthTag().toString('hex');
}

const [keyBytes, nonceBytes] = [16, 12];
/** Checked in less than a millisecond: meanwhile the event loop waits. */
const chunkBytes = 2 ** 20;
