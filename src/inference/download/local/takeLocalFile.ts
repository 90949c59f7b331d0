import { createReadStream, type BigIntStats } from 'node:fs';
import { constants, copyFile, link, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { createFile, draftPath, syncFolder } from '../../../base/filesystem.ts';
import { findMismatch, isSameFile, isUnchanged, readContent } from '../disk/modelFile.ts';
import { partialPath, resumeInfoPath } from '../disk/partialFile.ts';
import type { ExpectedFile, Target } from '../target.ts';
import type { LocalFile } from './findLocalFiles.ts';

/** How a file of another program is taken. */
export interface TakeOptions {
  readonly signal: AbortSignal;
  /** Receives the number of bytes that were read. */
  readonly onBytes: (bytes: number) => void;
  /** Called before a file is copied, with its size; throws to end the download. */
  readonly checkSpace: (bytes: number) => Promise<void>;
}

/** The files that may be the expected one, the likeliest first; none where its SHA-256 is not known. */
export function listCandidates(
  files: readonly LocalFile[],
  target: Target,
  { bytes, sha256 }: ExpectedFile,
): readonly LocalFile[] {
  if (sha256 === undefined) return [];
  const ofSize = files.filter((file) => bytes === undefined || file.bytes === bytes);
  const ofHash = ofSize.filter((file) => file.sha256 === sha256);
  // Without a size only the name is left: not every file of the machine is read for one download.
  const isLikely = ({ path }: LocalFile): boolean =>
    bytes !== undefined || basename(path).toLowerCase() === basename(target.path).toLowerCase();
  return [...ofHash, ...ofSize.filter((file) => file.sha256 === undefined && isLikely(file))];
}

/**
 * Puts a file that another program has into the place of a download, as a hard link, or as a copy where the file system
 * cannot link. The other program's file is only read. The caller holds the lock of the target.
 * @returns whether it was done; false = its SHA-256 is not the expected one, or it cannot be read: nothing was changed.
 * @throws the error of `checkSpace`; the signal's reason; the system's error about the target.
 */
export async function takeLocalFile(
  target: Target,
  expected: ExpectedFile,
  candidate: LocalFile,
  options: TakeOptions,
): Promise<boolean> {
  const verified = await verifyCandidate(candidate, expected, options);
  return verified !== undefined && (await placeFile(candidate, verified, target, options));
}

/** Reads a file completely. Returns its identity; undefined = its content is another one, or it cannot be read. */
async function verifyCandidate(
  { path }: LocalFile,
  expected: ExpectedFile,
  { signal, onBytes }: TakeOptions,
): Promise<BigIntStats | undefined> {
  try {
    let bytes = 0;
    const { identity, ...actual } = await readContent(path, { signal, onBytes: (chunk) => onBytes((bytes += chunk)) });
    return findMismatch(actual, expected) === undefined ? identity : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

async function placeFile(
  { path, bytes }: LocalFile,
  verified: BigIntStats,
  target: Target,
  { signal, checkSpace }: TakeOptions,
): Promise<boolean> {
  const draft = draftPath(target.path);
  await rm(draft, { force: true });
  try {
    const linked = await link(path, draft).then(
      () => true,
      () => false,
    );
    if (!linked) {
      await checkSpace(bytes);
      await copyDurably(path, draft, signal);
    }
    const [now, placed] = await Promise.all([path, draft].map((file) => stat(file, { bigint: true })));
    const isSource = now !== undefined && isUnchanged(now, verified);
    const isComplete = placed !== undefined && (linked ? isSameFile(placed, verified) : placed.size === verified.size);
    if (!isSource || !isComplete) return false;
    await rename(draft, target.path);
    await syncFolder(dirname(target.path));
    for (const left of [partialPath(target.path), resumeInfoPath(partialPath(target.path))])
      await rm(left, { force: true });
    return true;
  } finally {
    await rm(draft, { force: true });
  }
}

async function copyDurably(from: string, to: string, signal: AbortSignal): Promise<void> {
  // Copy-on-write where the file system can (reflink): such a copy takes no time and no space.
  const isCloned = await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
  if (isCloned) return;
  await using file = await createFile(to);
  for await (const chunk of createReadStream(from, { highWaterMark: 2 ** 18 })) {
    signal.throwIfAborted();
    await file.writeFile(chunk as Buffer);
  }
  await file.sync();
}
