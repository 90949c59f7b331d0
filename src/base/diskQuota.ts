/** A file of a quota. */
export interface QuotaFile {
  bytes: number;
  /** Being written or read: it is not evicted. */
  inUse: boolean;
  /** Deletes the file, and removes it from the quota. */
  readonly drop: () => Promise<void>;
}

/** Disk space that several stores share: when it is full, the files that were not used for the longest time are deleted. */
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

  /** Adds a file, and evicts others for it. @returns false when there is no room for it. */
  async add(file: QuotaFile): Promise<boolean> {
    const evictable = [...this.#files].filter(({ inUse }) => !inUse);
    if (this.bytes - totalBytes(evictable) + file.bytes > this.#maxBytes) return false;
    this.#files.add(file);
    for (const oldest of evictable) {
      if (this.bytes <= this.#maxBytes) break;
      if (!oldest.inUse) await oldest.drop();
    }
    if (this.bytes <= this.#maxBytes) return true;
    this.#files.delete(file);
    return false;
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
