import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

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

/**
 * Adds a byte range of a file to a hash.
 * @param file its path, or the open file, which stays open.
 * @throws the signal's reason when it is aborted; the system's error.
 */
export async function hashRange(
  hash: Hash,
  file: string | FileHandle,
  { from, to, signal, onBytes }: ByteRange,
): Promise<void> {
  if (to <= from) return;
  const options = { start: from, end: to - 1, highWaterMark: 2 ** 18 };
  const stream =
    typeof file === 'string'
      ? createReadStream(file, options)
      : file.createReadStream({ ...options, autoClose: false });
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
    onBytes?.((chunk as Buffer).byteLength);
  }
}

/** The SHA-256 of a file, in hexadecimal. Parameters and errors as `hashRange`. */
export async function hashFile(file: string | FileHandle, options: Partial<ByteRange> = {}): Promise<string> {
  const hash = createHash('sha256');
  await hashRange(hash, file, { from: 0, to: Infinity, ...options });
  return hash.digest('hex');
}
