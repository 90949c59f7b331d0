import { rm, statfs, constants, copyFile, link, rename, stat } from 'node:fs/promises';
import { Fault } from '../../protocol/fault.ts';
import { draftPath, makeFolder, createFile, syncFolder } from '../../base/filesystem.ts';
import { formatMegabytes } from '../../base/units.ts';
import { acquireLock } from './disk/lockFile.ts';
import type { DownloadManifest, FileRecord } from './disk/manifest.ts';
import { fileSize, findMismatch, isSameFile, isUnchanged, readContent, type ReadOptions } from './disk/modelFile.ts';
import { resumableBytes, partialPath, resumeInfoPath } from './disk/partialFile.ts';
import { downloadFile, expectedOf, type MissingFile } from './downloadFile.ts';
import type { HubSettings } from './hub/endpoint.ts';
import { fetchRemoteFile, type RemoteFile } from './hub/remoteFile.ts';
import type { LocalFile } from './local/findLocalFiles.ts';
import { isDownloaded } from './locate.ts';
import { progressOf } from './progress.ts';
import { retry, type RetryPolicy } from './retry.ts';
import type { DownloadReport } from './sharedDownload.ts';
import { describeTarget, type ExpectedFile, type Target } from './target.ts';
import { createReadStream, type BigIntStats } from 'node:fs';
import { basename, dirname } from 'node:path';

export type FreeBytes = (folder: string) => Promise<number>;

export const systemFreeBytes: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

export interface ModelDownload extends DownloadReport {
  /** Called when the hub is needed. @throws Fault DOWNLOAD_NOT_AVAILABLE when it may not be asked. */
  readonly readHub: () => Promise<HubSettings>;
  /** Finds the files that other programs have on this machine. */
  readonly findLocalFiles: () => Promise<readonly LocalFile[]>;
  /** Its files, in the order of the catalogue. */
  readonly targets: readonly Target[];
  /** Size of all files as the catalogue gives it; 0 = not known. */
  readonly bytesTotal: number;
  /** The models folder. */
  readonly folder: string;
  readonly manifest: DownloadManifest;
  readonly policy: RetryPolicy;
  readonly freeBytes: FreeBytes;
  readonly signal: AbortSignal;
}

// Stays free on the disk for everything else that the machine has to write.
const reservedBytes = 64 * 2 ** 20;

/**
 * Downloads the missing files of a model, one after the other, and records them in the manifest. Every file is resolved at
 * the hub first, so that the size of all is known (progress, disk space) before the first byte.
 * Returns the bytes of all files.
 * @throws Fault INSUFFICIENT_DISK_SPACE, DOWNLOAD_ALREADY_ACTIVE when another process downloads a file, and those of
 * `fetchRemoteFile` and `downloadFile`; the signal's reason; the system's error.
 */
export async function downloadModel(model: ModelDownload): Promise<number> {
  const { presentBytes, missing } = await resolveFiles(model);
  const bytesDone = missing.map(({ resumeFrom }) => resumeFrom);
  const totalDone = (): number => bytesDone.reduce((sum, bytes) => sum + bytes, presentBytes);
  const bytesTotal = model.bytesTotal || totalBytes(presentBytes, missing);
  const report = (): void => model.onProgress(progressOf(totalDone(), bytesTotal));
  report();
  await makeFolder(model.folder);
  const isSizeKnown = totalBytes(presentBytes, missing) > 0;
  const checkSpace = async (missingBytes: number): Promise<void> => {
    const neededBytes = Math.max(missingBytes, bytesTotal - totalDone());
    // A body of unknown size may be endless: it must leave the reserve, however little is known to be missing.
    if (missing.length > 0 && (neededBytes > 0 || !isSizeKnown)) await checkDiskSpace(model, neededBytes);
  };
  await checkSpace(0);
  for (const [index, file] of missing.entries()) {
    const onBytes = (bytes: number): void => {
      bytesDone[index] = bytes;
      report();
    };
    await downloadMissing(model, file, onBytes, checkSpace);
  }
  // Reports the end also when the size was not known before, or the catalogue's was wrong.
  if (totalDone() !== bytesTotal) model.onProgress(progressOf(totalDone(), totalDone()));
  return totalDone();
}

async function resolveFiles(model: ModelDownload) {
  let presentBytes = 0;
  let localFiles: Promise<readonly LocalFile[]> | undefined;
  const missing: MissingFile[] = [];
  const take = async (target: Target, expected: ExpectedFile, commit = ''): Promise<boolean> => {
    if (expected.sha256 === undefined) return false;
    const candidates = listCandidates(await (localFiles ??= model.findLocalFiles()), target, expected);
    return candidates.length > 0 && takeAny(model, target, expected, candidates, commit, presentBytes);
  };
  for (const target of model.targets) {
    if (!(await isDownloaded(target, model.manifest)) && !(await take(target, target.expected))) {
      const remoteFile = await resolveFile(model, target);
      // The hub has the hash or the size that the catalogue lacks.
      const isNew = target.expected.sha256 === undefined || target.expected.bytes === undefined;
      const isTaken = isNew && (await take(target, expectedOf(target, remoteFile), remoteFile.commit));
      if (!isTaken) {
        missing.push({ target, remoteFile, resumeFrom: await resumableBytes(target, remoteFile) });
        continue;
      }
    }
    presentBytes += (await fileSize(target.path)) ?? 0;
  }
  return { presentBytes, missing };
}

async function resolveFile({ readHub, policy, signal, onRetry }: ModelDownload, target: Target): Promise<RemoteFile> {
  const hub = await readHub();
  return retry({ name: describeTarget(target), policy, signal, onRetry, progress: () => 0 }, () =>
    fetchRemoteFile(hub, target, { signal, stallMs: policy.stallMs }),
  );
}

/** Takes and records the first candidate with the expected content. @param presentBytes of the model's other files. */
async function takeAny(
  model: ModelDownload,
  target: Target,
  expected: ExpectedFile,
  candidates: readonly LocalFile[],
  commit: string,
  presentBytes: number,
): Promise<boolean> {
  const { manifest, signal, onProgress, onLocalFile } = model;
  await using _ = await acquireLock(target.path);
  // Another process may have completed it before the lock was acquired.
  if (await isDownloaded(target, manifest)) return true;
  for (const candidate of candidates) {
    onLocalFile(candidate);
    const total = model.bytesTotal || presentBytes + candidate.bytes;
    let done = presentBytes;
    const onBytes = (bytes: number): void => onProgress(progressOf((done += bytes), total));
    const verified = await verifyCandidate(candidate, expected, { signal, onBytes });
    if (!verified || !(await placeFile(candidate, verified, target, model))) continue;
    await record(model, target, { bytes: candidate.bytes, sha256: expected.sha256 ?? '', commit });
    return true;
  }
  return false;
}

async function record(
  { manifest, policy, signal }: ModelDownload,
  { key }: Target,
  file: Omit<FileRecord, 'completed'>,
): Promise<void> {
  const entry = { ...file, completed: new Date().toISOString() };
  await manifest.update((records) => void records.set(key, entry), { wait: policy.wait, signal });
}

/** Size of all files; 0 when the hub does not report one of them. */
function totalBytes(presentBytes: number, missing: readonly MissingFile[]): number {
  const sizes = missing.map(({ remoteFile }) => remoteFile.bytes).filter((bytes) => bytes !== undefined);
  return sizes.length < missing.length ? 0 : sizes.reduce((sum, bytes) => sum + bytes, presentBytes);
}

async function downloadMissing(
  model: ModelDownload,
  file: MissingFile,
  onBytes: (bytes: number) => void,
  checkSpace: (missingBytes: number) => Promise<void>,
): Promise<void> {
  const { target } = file;
  const { readHub, manifest, policy, signal, onRetry } = model;
  await using lock = await acquireLock(target.path);
  // Another process may have completed it before the lock was acquired.
  if (await isDownloaded(target, manifest)) return onBytes((await fileSize(target.path)) ?? 0);
  // The copy of a local file, which a killed process left.
  await rm(draftPath(target.path), { force: true });
  const options = { hub: await readHub(), policy, signal, lock, onRetry, onBytes, checkSpace };
  await record(model, target, await downloadFile(file, options));
}

async function checkDiskSpace({ freeBytes, folder }: ModelDownload, missingBytes: number): Promise<void> {
  const free = await freeBytes(folder);
  const needed = missingBytes + reservedBytes;
  if (free >= needed) return;
  throw new Fault(
    'INSUFFICIENT_DISK_SPACE',
    `${folder} has ${formatMegabytes(free)} free, and ${formatMegabytes(needed)} are needed: ${formatMegabytes(missingBytes)} to fetch, and ${formatMegabytes(reservedBytes)} that stay free for others; make room, or choose another folder with --models`,
  );
}

/** The files that may be the expected one, whose SHA-256 is known; the likeliest first. */
function listCandidates(
  files: readonly LocalFile[],
  target: Target,
  { bytes, sha256 }: ExpectedFile,
): readonly LocalFile[] {
  const ofSize = files.filter((file) => bytes === undefined || file.bytes === bytes);
  const ofHash = ofSize.filter((file) => file.sha256 === sha256);
  // Without a size only the name is left: not every file of the machine is read for one download.
  const isLikely = ({ path }: LocalFile): boolean =>
    bytes !== undefined || basename(path).toLowerCase() === basename(target.path).toLowerCase();
  return [...ofHash, ...ofSize.filter((file) => file.sha256 === undefined && isLikely(file))];
}

/** Reads a file completely. Returns its identity; undefined = its content is another one, or it cannot be read. */
async function verifyCandidate(
  { path }: LocalFile,
  expected: ExpectedFile,
  options: ReadOptions,
): Promise<BigIntStats | undefined> {
  try {
    const { identity, ...actual } = await readContent(path, options);
    return findMismatch(actual, expected) === undefined ? identity : undefined;
  } catch {
    options.signal.throwIfAborted();
    return undefined;
  }
}

/**
 * Puts a file that another program has into the place of a download, as a hard link, or as a copy where the file system
 * cannot link. The other program's file is only read. The caller holds the lock of the target.
 * @returns whether it was done; false = it has changed since it was verified, and nothing else was changed.
 * @throws Fault INSUFFICIENT_DISK_SPACE for a copy; the signal's reason; the system's error about the target.
 */
async function placeFile(
  { path, bytes }: LocalFile,
  verified: BigIntStats,
  target: Target,
  model: ModelDownload,
): Promise<boolean> {
  const draft = draftPath(target.path);
  await rm(draft, { force: true });
  try {
    const linked = await link(path, draft).then(
      () => true,
      () => false,
    );
    if (!linked) {
      await checkDiskSpace(model, bytes);
      await copyDurably(path, draft, model.signal);
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
