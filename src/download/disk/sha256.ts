import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** A byte range of a file, and how it is read. */
export interface ByteRange {
  /** Offset of the first byte. */
  readonly from: number;
  /** Offset after the last byte. */
  readonly to: number;
  readonly signal?: AbortSignal;
  /** Receives the size of each chunk that has been read. */
  readonly onBytes?: (bytes: number) => void;
}

/** Adds a byte range of a file to a hash. @throws the signal's reason when it is aborted; the system's error. */
export async function hashRange(hash: Hash, path: string, { from, to, signal, onBytes }: ByteRange): Promise<void> {
  if (to <= from) return;
  const stream = createReadStream(path, { start: from, end: to - 1, highWaterMark: 2 ** 18 });
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
    onBytes?.((chunk as Buffer).byteLength);
  }
}

/** The SHA-256 of a file, in hexadecimal. @throws the signal's reason when it is aborted; the system's error. */
export async function hashFile(path: string, options: Partial<ByteRange> = {}): Promise<string> {
  const hash = createHash('sha256');
  await hashRange(hash, path, { from: 0, to: Infinity, ...options });
  return hash.digest('hex');
}
