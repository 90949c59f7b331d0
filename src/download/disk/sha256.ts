import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** A stretch of a file. */
export interface ByteRange {
  readonly from: number;
  /** The first byte that is no longer of it. */
  readonly to: number;
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/** Adds a stretch of a file to a hash. */
export async function hashRange(hash: Hash, path: string, { from, to, signal, onBytes }: ByteRange): Promise<void> {
  if (to <= from) return;
  const stream = createReadStream(path, { start: from, end: to - 1, highWaterMark: 2 ** 18 });
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
    onBytes?.((chunk as Buffer).byteLength);
  }
}

/** The SHA-256 of a file. */
export async function sha256Of(path: string, options: Partial<ByteRange> = {}): Promise<string> {
  const hash = createHash('sha256');
  await hashRange(hash, path, { from: 0, to: Infinity, ...options });
  return hash.digest('hex');
}
