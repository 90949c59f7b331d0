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
export interface StateFiles {
  /** Reserves space, evicting the oldest unused states. @param onDrop of the file. @returns undefined: no quota. */
  reserve(bytes: number, onDrop: () => void): Promise<StateFile | undefined>;
  /** A state could not be written: reports it, and creates the folder again before the next one. */
  writeFailed(error: unknown): void;
}
