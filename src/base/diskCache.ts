import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from './filesystem.ts';

/** What a quota holds: a file, or several that are deleted together. */
export interface QuotaFile {
  bytes: number;
  /** Being written or read: it is not evicted. */
  inUse: boolean;
  /** Deletes the file, and removes it from the quota. */
  readonly drop: () => Promise<void>;
}

interface NewQuotaFile extends Readonly<Pick<QuotaFile, 'bytes' | 'inUse'>> {
  readonly paths: readonly string[];
  /** Called when it is dropped or evicted. */
  readonly onDrop?: () => void;
}

/** Disk space that several caches share: when it is full, the files that were not used for the longest time are deleted. */
export class DiskQuota {
  readonly #maxBytes: number;
  /** Least recently used first. */
  readonly #files = new Set<QuotaFile>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of all files, including the space reserved for those being written. */
  get bytes(): number {
    return totalBytes([...this.#files]);
  }

  /** Adds a file, and evicts others for it. @returns undefined when there is no room for it. */
  async add({ paths, bytes, inUse, onDrop }: NewQuotaFile): Promise<QuotaFile | undefined> {
    const drop = async (): Promise<void> => {
      if (!this.delete(file)) return;
      onDrop?.();
      await removeFiles(paths);
    };
    const file: QuotaFile = { bytes, inUse, drop };
    const evictable = [...this.#files].filter((other) => !other.inUse);
    if (this.bytes - totalBytes(evictable) + bytes > this.#maxBytes) return undefined;
    this.#files.add(file);
    for (const oldest of evictable) {
      if (this.bytes <= this.#maxBytes) break;
      if (!oldest.inUse) await oldest.drop();
    }
    if (this.bytes <= this.#maxBytes) return file;
    this.#files.delete(file);
    return undefined;
  }

  /** Marks a file as the most recently used one. */
  touch(file: QuotaFile): void {
    if (this.#files.delete(file)) this.#files.add(file);
  }

  /** @returns false when the quota does not have the file. */
  delete(file: QuotaFile): boolean {
    return this.#files.delete(file);
  }
}

const totalBytes = (files: readonly QuotaFile[]): number => files.reduce((total, { bytes }) => total + bytes, 0);

/** What cannot be removed now is found by the next scan. */
async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true }).catch(() => undefined);
}

/** What a cache knows of an entry: its size, and what its owner has read of it. */
interface Found<Content> {
  readonly bytes: number;
  readonly content: Content;
}

interface CacheEntry<Content> extends QuotaFile {
  readonly content: Content;
}

interface DiskCacheOptions<Content> {
  readonly folder: string;
  readonly quota: DiskQuota;
  /** Of the files of an entry, which appears when the first one does; its time is that of the last use. */
  readonly extensions: readonly [string, ...string[]];
  /** Reads an entry that is found in the folder; undefined: it cannot be used, and is deleted. */
  readonly read: (id: string, fileBytes: number) => Promise<Found<Content> | undefined>;
}

/**
 * A folder of files that is kept over restarts and evicted in the order of last use (LRU). An entry has one file `ID.EXTENSION`
 * or several; its id is a SHA-256 hash in hex. Other servers may use the folder at the same time: entries appear and vanish.
 */
export class DiskCache<Content> {
  readonly #options: DiskCacheOptions<Content>;
  readonly #namePattern: RegExp;
  readonly #entries = new Map<string, CacheEntry<Content>>();
  #scanned: Promise<void> = Promise.resolve();

  constructor(options: DiskCacheOptions<Content>) {
    this.#options = options;
    const extension = `(?:${options.extensions.join('|')})`;
    this.#namePattern = new RegExp(
      `^([0-9a-f]{64})\\.(?:(${extension})|${extension}\\.new|(?:${extension}\\.)?[0-9a-f]{12}\\.part)$`,
    );
  }

  get entries(): ReadonlyMap<string, CacheEntry<Content>> {
    return this.#entries;
  }

  /** The path of a file of an entry; by default of its first one. */
  pathOf(id: string, extension: string = this.#options.extensions[0]): string {
    return join(this.#options.folder, `${id}.${extension}`);
  }

  /** A new path to write a file at that becomes one of an entry when it is renamed. Creates the folder, for this user only. */
  async createDraftPath(id: string): Promise<string> {
    await makeFolder(this.#options.folder, 0o700);
    return this.pathOf(id, `${randomBytes(6).toString('hex')}.part`);
  }

  /** Adds an entry whose files are there or about to be; undefined when the quota has no room for it. */
  async add(id: string, { bytes, content }: Found<Content>, inUse = false): Promise<CacheEntry<Content> | undefined> {
    const onDrop = (): void => void this.#entries.delete(id);
    const file = await this.#options.quota.add({ paths: this.#paths(id), bytes, inUse, onDrop });
    if (!file) return undefined;
    const entry = Object.assign(file, { content });
    this.#entries.set(id, entry);
    return entry;
  }

  /** Marks an entry as the most recently used one, also for the next server. */
  async touch(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry) this.#options.quota.touch(entry);
    await utimes(this.pathOf(id), new Date(), new Date()).catch(() => undefined);
  }

  /** Deletes an entry, or files of one that was not added. */
  async remove(id: string): Promise<void> {
    await this.#entries.get(id)?.drop();
    await removeFiles(this.#paths(id));
  }

  /** Finds the entries that other servers have written or deleted, and deletes what was not finished. */
  scan(): Promise<void> {
    return (this.#scanned = this.#scanned.then(() => this.#scan()));
  }

  async #scan(): Promise<void> {
    const { folder, extensions, read } = this.#options;
    const names = new Set(await readdir(folder).catch(() => []));
    const isThere = (id: string): boolean => names.has(`${id}.${extensions[0]}`);
    for (const [id, entry] of this.#entries) if (!isThere(id)) await entry.drop();
    const found: (Found<Content> & { readonly id: string; readonly usedMs: number })[] = [];
    for (const name of names) {
      const path = join(folder, name);
      const [, id = '', extension] = this.#namePattern.exec(name) ?? [];
      if (id === '' || (extension !== undefined && this.#entries.has(id))) continue;
      const info = await stat(path).catch(() => undefined);
      // Reading a pipe would wait for who writes to it.
      if (!info?.isFile()) continue;
      if (extension === extensions[0]) {
        const entry = await read(id, info.size);
        if (entry) found.push({ ...entry, id, usedMs: info.mtimeMs });
        else await this.remove(id);
        // The other files of an entry that is being written are there before its first one.
      } else if ((extension === undefined || !isThere(id)) && Date.now() - info.mtimeMs > abandonedAfterMs)
        await removeFiles([path]);
    }
    for (const { id, ...entry } of found.toSorted((a, b) => a.usedMs - b.usedMs))
      if (!(await this.add(id, entry))) await this.remove(id);
  }

  #paths(id: string): readonly string[] {
    return this.#options.extensions.map((extension) => this.pathOf(id, extension));
  }
}

const abandonedAfterMs = 3_600_000;
