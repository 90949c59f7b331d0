import type { BigIntStats } from 'node:fs';
import { constants, lstat, open, type FileHandle } from 'node:fs/promises';
import { createFile } from '../../../base/filesystem.ts';

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

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  // ELOOP: a symbolic link took the place of the file.
  if (error.code !== 'ENOENT' && error.code !== 'ELOOP') throw error;
}
