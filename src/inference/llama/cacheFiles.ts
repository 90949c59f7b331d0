import { DiskQuota, type QuotaFile, DiskCache } from '../../base/diskCache.ts';
import type { StateFiles, StateFile } from './kvCache/stateFiles.ts';
import type { PromptFiles, NewPrompt, SavedPrompt } from './promptCache/promptFiles.ts';
import { randomBytes, createHash } from 'node:crypto';
import { readdir, rm, stat, utimes, chmod, readFile, rename } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, dirname } from 'node:path';
import { makeFolder, writeAtomic } from '../../base/filesystem.ts';
import { isAbandoned } from '../../base/ownership.ts';
import { createReader, type FromSchema, type ObjectSchema, readJsonText } from '../../protocol/schema.ts';
import { integer, string } from '../../protocol/schemaBuilders.ts';
import { fileChecksum } from './promptCache/fileChecksum.ts';

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

  /** @param cache folder with the folders of all engines. @param onWriteError receives the error of a failed write. */
  constructor(cache: string, quota: DiskQuota, onWriteError: (error: unknown) => void = () => undefined) {
    this.#parent = join(cache, 'states');
    this.#folder = join(this.#parent, `${safeHostname()}-${process.pid}-${randomBytes(6).toString('hex')}`);
    this.#quota = quota;
    this.#onWriteError = onWriteError;
    // The next store tries again to remove what cannot be removed now.
    this.#swept = sweep(this.#parent).catch(() => undefined);
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
export class PromptStore implements PromptFiles {
  readonly #onWriteError: (error: unknown) => void;
  readonly #cache: DiskCache<{ readonly header: PromptHeader; readers: number }>;
  #saved: Promise<unknown> = Promise.resolve();

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

  // One after the other: two engine processes may save the same prompt.
  save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined> {
    const saving = this.#saved.then(() => this.#save(prompt, file));
    this.#saved = saving;
    return saving;
  }

  async #save(prompt: NewPrompt, file: StateFile): Promise<SavedPrompt | undefined> {
    const id = promptId(prompt);
    let isPlaced = false;
    try {
      const { size: bytes } = await stat(file.path);
      const header: PromptHeader = { version: 2, ...prompt, bytes, checksum: await fileChecksum(file.path) };
      if (this.#cache.entries.has(id)) return savedPrompt(id, header);
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

  async open(id: string): Promise<string | undefined> {
    const entry = this.#cache.entries.get(id);
    if (!entry) return undefined;
    entry.content.readers++;
    entry.inUse = true;
    const path = this.#cache.pathOf(id, 'state');
    const isSame = (await fileChecksum(path).catch(() => '')) === entry.content.header.checksum;
    if (!isSame) {
      await entry.drop();
      return undefined;
    }
    await this.#cache.touch(id);
    return path;
  }

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
