import { createHash, type Hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { constants, type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { createFile } from '../../../base/filesystem.ts';
import { type ExpectedFile, listDifferences } from '../target.ts';

export const ggufMagic = 'GGUF';

export interface ActualFile {
  readonly bytes: number;
  readonly sha256: string;
  /** Its first characters, as many as `ggufMagic` has. */
  readonly magic: string;
}

/** How a file differs from what it must be; undefined = in nothing that is known. */
export function findMismatch(actual: ActualFile, expected: ExpectedFile): string | undefined {
  const [difference] = listDifferences(actual, expected);
  if (difference !== undefined) return difference;
  // When no hash is known, this at least distinguishes a model from a login page.
  if (actual.magic !== ggufMagic)
    return `"${actual.magic.replaceAll(/[^ -~]/g, '.')}" at its start instead of "${ggufMagic}": it is no model`;
  return undefined;
}

/** The first characters of an open file, as many as `ggufMagic` has. */
export async function readMagic(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(ggufMagic.length), 0, ggufMagic.length, 0);
  return buffer.toString('latin1', 0, bytesRead);
}

/** Size of a file in bytes; undefined when there is none. */
export async function fileSize(path: string): Promise<number | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() ? stats.size : undefined;
}

/** Size of a partial file in bytes; undefined when there is none. A symbolic link is none. */
export async function partialFileSize(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isFile() ? stats.size : undefined;
}

/** Whether a file begins like a model. One that cannot be read counts: the error of its load says why. */
export async function hasModelMagic(path: string): Promise<boolean> {
  try {
    await using file = await open(path);
    return (await readMagic(file)) === ggufMagic;
  } catch {
    return true;
  }
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Receives the size of each chunk that has been read. */
  readonly onBytes?: (bytes: number) => void;
}

/** Adds the bytes of a file between two offsets to a hash. @throws the signal's reason; the system's error. */
export async function hashRange(
  hash: Hash,
  file: FileHandle,
  { from, to, signal, onBytes }: ReadOptions & { readonly from: number; readonly to: number },
): Promise<void> {
  if (to <= from) return;
  const range = { start: from, end: to - 1, highWaterMark: 2 ** 18, autoClose: false };
  for await (const chunk of file.createReadStream(range)) {
    signal.throwIfAborted();
    hash.update(chunk as Buffer);
    onBytes?.((chunk as Buffer).byteLength);
  }
}

/**
 * Reads a file completely. Size, magic and hash are those of one open file, also when another takes its name meanwhile.
 * @returns the content, and which file it was.
 * @throws the signal's reason when it is aborted; the system's error.
 */
export async function readContent(
  path: string,
  { signal, onBytes }: ReadOptions,
): Promise<ActualFile & { readonly identity: BigIntStats }> {
  await using file = await open(path);
  const identity = await file.stat({ bigint: true });
  const hash = createHash('sha256');
  let bytes = 0;
  const count = (chunkBytes: number): void => {
    bytes += chunkBytes;
    onBytes?.(chunkBytes);
  };
  await hashRange(hash, file, { from: 0, to: Infinity, signal, onBytes: count });
  return { bytes, sha256: hash.digest('hex'), magic: await readMagic(file), identity };
}

/**
 * Opens a file for reading and writing, and creates it when it is missing. A symbolic link, a device, or a file that has
 * another name too (hard link) is not written to: the name is removed, and a new file created.
 * @throws the system's error.
 */
export async function openExclusive(path: string): Promise<FileHandle> {
  return (await openExisting(path)) ?? createFile(path);
}

// Windows has neither flag; there the file is compared before and after it is opened.
const openFlags = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

async function openExisting(path: string): Promise<FileHandle | undefined> {
  const before = await lstat(path, { bigint: true }).catch(undefinedIfMissing);
  if (!before?.isFile() || before.nlink > 1n) return undefined;
  const file = await open(path, openFlags).catch(undefinedIfMissing);
  if (!file) return undefined;
  if (isSameFile(await file.stat({ bigint: true }), before)) return file;
  await file.close();
  return undefined;
}

/** Whether two results of `stat` or `lstat` are of one file. */
export const isSameFile = (a: BigIntStats, b: BigIntStats): boolean => a.ino === b.ino && a.dev === b.dev;

/** Whether a file has still the content of before. Not by the time of the last status change: a hard link is one. */
export const isUnchanged = (now: BigIntStats, before: BigIntStats): boolean =>
  isSameFile(now, before) && now.size === before.size && now.mtimeNs === before.mtimeNs;

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  // ELOOP: a symbolic link took the place of the file.
  if (error.code !== 'ENOENT' && error.code !== 'ELOOP') throw error;
}
