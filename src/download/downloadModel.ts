import { statfs } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { makeFolder } from '../filesystem.ts';
import { formatMegabytes } from '../units.ts';
import { downloadFile, resolveRemoteFile, type FileJob } from './downloadFile.ts';
import { fileSize } from './disk/modelFile.ts';
import type { HubSettings } from './hub/endpoint.ts';
import type { DownloadManifest } from './disk/manifest.ts';
import { acquireLock } from './disk/lockFile.ts';
import type { RemoteFile } from './hub/remoteFile.ts';
import { resumableBytes } from './disk/partialFile.ts';
import type { RetryPolicy } from './retry.ts';
import { progressOf, type OnDownload } from './progress.ts';
import type { Target } from './target.ts';

/** Free bytes on the disk of a folder. */
export type FreeBytes = (folder: string) => Promise<number>;

/** What the system says of free disk. */
export const systemFreeBytes: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/** A model to fetch: its files in order, and what they need. */
export interface DownloadJob {
  readonly hub: HubSettings;
  readonly targets: readonly Target[];
  /** Size of all files, where the catalogue gives it. */
  readonly bytesTotal: number;
  readonly folder: string;
  readonly manifest: DownloadManifest;
  readonly policy: RetryPolicy;
  readonly freeBytes: FreeBytes;
  readonly signal: AbortSignal;
  readonly onProgress: OnDownload;
  readonly onRetry: (sentence: string) => void;
  /** Files that are there already. */
  readonly isThere: (target: Target) => Promise<boolean>;
}

// So much stays free beside the model, for what else the machine has to write.
const reservedBytes = 64 * 2 ** 20;

interface FileProgress {
  readonly target: Target;
  /** undefined = it is there. */
  readonly offer: RemoteFile | undefined;
  done: number;
}

/** Fetches what is missing of a model, one file after the other, and records it. Returns the bytes of all files. */
export async function downloadFiles(job: DownloadJob): Promise<number> {
  const pieces = await resolveFiles(job);
  const told = pieces.reduce((sum, { offer: remoteFile, done }) => sum + (remoteFile?.bytes ?? done), 0);
  const total =
    job.bytesTotal || (pieces.some(({ offer: remoteFile }) => remoteFile && remoteFile.bytes === undefined) ? 0 : told);
  const tell = (): void => job.onProgress(progressOf(totalDone(pieces), total));
  tell();
  await makeFolder(job.folder);
  const watch = (missing: number): Promise<void> => checkDiskSpace(job, Math.max(missing, total - totalDone(pieces)));
  await watch(0);
  for (const piece of pieces) {
    const onBytes = (bytes: number): void => {
      piece.done = bytes;
      tell();
    };
    if (piece.offer) await downloadPiece({ ...job, target: piece.target, checkLock: watch, onBytes }, piece.offer);
  }
  const done = totalDone(pieces);
  // Where nobody could tell the size beforehand, it is known now.
  if (done !== total) job.onProgress(progressOf(done, done));
  return done;
}

const totalDone = (pieces: readonly FileProgress[]): number => pieces.reduce((sum, { done }) => sum + done, 0);

async function resolveFiles(job: DownloadJob): Promise<readonly FileProgress[]> {
  const pieces: FileProgress[] = [];
  for (const target of job.targets) {
    const there = await job.isThere(target);
    const remoteFile = there ? undefined : await resolveRemoteFile({ ...job, target });
    pieces.push({
      target,
      offer: remoteFile,
      done: remoteFile ? await resumableBytes(target, remoteFile) : ((await fileSize(target.path)) ?? 0),
    });
  }
  return pieces;
}

type PieceJob = DownloadJob & Pick<FileJob, 'target' | 'checkLock' | 'onBytes'>;

async function downloadPiece(job: PieceJob, remoteFile: RemoteFile): Promise<void> {
  const { manifest, policy, signal, target, onBytes } = job;
  await using lock = await acquireLock(target.path);
  // Another process may have finished it meanwhile.
  if (await job.isThere(target)) return onBytes((await fileSize(target.path)) ?? 0);
  const { bytes, sha256, commit } = await downloadFile({ ...job, lock }, remoteFile);
  const record = { bytes, sha256, commit, completed: new Date().toISOString() };
  await manifest.update((records) => void records.set(target.key, record), { ...policy, signal });
}

async function checkDiskSpace({ freeBytes, folder }: DownloadJob, missing: number): Promise<void> {
  if (missing <= 0) return;
  const free = await freeBytes(folder);
  if (free >= missing + reservedBytes) return;
  throw new Fault(
    'INSUFFICIENT_DISK_SPACE',
    `${folder} has ${formatMegabytes(free)} free, and ${formatMegabytes(missing + reservedBytes)} are needed: ${formatMegabytes(missing)} to fetch, and ${formatMegabytes(reservedBytes)} that stay free for others; make room, or choose another folder with --models`,
  );
}
