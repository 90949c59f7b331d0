import { statfs } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { makeFolder } from '../filesystem.ts';
import { formatMegabytes } from '../units.ts';
import { acquireLock } from './disk/lockFile.ts';
import type { DownloadManifest } from './disk/manifest.ts';
import { fileSize } from './disk/modelFile.ts';
import { resumableBytes } from './disk/resumeInfo.ts';
import { downloadFile, type MissingFile } from './downloadFile.ts';
import type { HubSettings } from './hub/endpoint.ts';
import { fetchRemoteFile } from './hub/remoteFile.ts';
import { isComplete } from './locate.ts';
import { progressOf, type OnDownload } from './progress.ts';
import { retry, type RetryPolicy } from './retry.ts';
import { describeTarget, type Target } from './target.ts';

/** Free bytes on the disk of a folder. */
export type FreeBytes = (folder: string) => Promise<number>;

/** Free bytes that the system reports. */
export const systemFreeBytes: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/** A model to download. */
export interface ModelDownload {
  readonly hub: HubSettings;
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
  readonly onProgress: OnDownload;
  readonly onRetry: (message: string) => void;
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

async function resolveFiles({ hub, targets, manifest, policy, signal, onRetry }: ModelDownload): Promise<{
  readonly presentBytes: number;
  readonly missing: readonly MissingFile[];
}> {
  let presentBytes = 0;
  const missing: MissingFile[] = [];
  for (const target of targets) {
    if (await isDownloaded(target, manifest)) {
      presentBytes += (await fileSize(target.path)) ?? 0;
      continue;
    }
    const remoteFile = await retry({ name: describeTarget(target), policy, signal, onRetry, progress: () => 0 }, () =>
      fetchRemoteFile(hub, target, { signal, stallMs: policy.stallMs }),
    );
    missing.push({ target, remoteFile, resumeFrom: await resumableBytes(target, remoteFile) });
  }
  return { presentBytes, missing };
}

const isDownloaded = async (target: Target, manifest: DownloadManifest): Promise<boolean> =>
  isComplete(target, (await manifest.read()).get(target.key));

/** Size of all files; 0 when the hub does not report one of them. */
function totalBytes(presentBytes: number, missing: readonly MissingFile[]): number {
  const sizes = missing.map(({ remoteFile }) => remoteFile.bytes).filter((bytes) => bytes !== undefined);
  return sizes.length < missing.length ? 0 : sizes.reduce((sum, bytes) => sum + bytes, presentBytes);
}

async function downloadMissing(
  { hub, manifest, policy, signal, onRetry }: ModelDownload,
  file: MissingFile,
  onBytes: (bytes: number) => void,
  checkSpace: (missingBytes: number) => Promise<void>,
): Promise<void> {
  const { target } = file;
  await using lock = await acquireLock(target.path);
  // Another process may have completed it before the lock was acquired.
  if (await isDownloaded(target, manifest)) return onBytes((await fileSize(target.path)) ?? 0);
  const options = { hub, policy, signal, lock, onRetry, onBytes, checkSpace };
  const { bytes, sha256, commit } = await downloadFile(file, options);
  const record = { bytes, sha256, commit, completed: new Date().toISOString() };
  await manifest.update((records) => void records.set(target.key, record), { wait: policy.wait, signal });
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
