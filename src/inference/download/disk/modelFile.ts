import { lstat, open, stat, type FileHandle } from 'node:fs/promises';
import type { ExpectedFile } from '../target.ts';

/** The first four characters of every GGUF file. */
export const ggufMagic = 'GGUF';

/** Content of a file on disk. */
export interface ActualFile {
  readonly bytes: number;
  readonly sha256: string;
  /** Its first characters, as many as `ggufMagic` has. */
  readonly magic: string;
}

/** How a file differs from what it must be; undefined = in nothing that is known. */
export function findMismatch(actual: ActualFile, expected: ExpectedFile): string | undefined {
  if (expected.bytes !== undefined && actual.bytes !== expected.bytes)
    return `${actual.bytes} bytes instead of ${expected.bytes}`;
  if (expected.sha256 !== undefined && actual.sha256 !== expected.sha256)
    return `SHA-256 ${actual.sha256} instead of ${expected.sha256}`;
  // When no hash is known, this at least distinguishes a model from a login page.
  if (actual.magic !== ggufMagic)
    return `"${printable(actual.magic)}" at its start instead of "${ggufMagic}": it is no model`;
  return undefined;
}

/** The first characters of an open file, as many as `ggufMagic` has. */
export async function readMagic(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(ggufMagic.length), 0, ggufMagic.length, 0);
  return buffer.toString('latin1', 0, bytesRead);
}

/** The first characters of a file, as many as `ggufMagic` has. */
async function readFileMagic(path: string): Promise<string> {
  const file = await open(path);
  try {
    return await readMagic(file);
  } finally {
    await file.close();
  }
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
  return (await readFileMagic(path).catch(() => ggufMagic)) === ggufMagic;
}

const printable = (text: string): string => text.replaceAll(/[^ -~]/g, '.');
