import { statfs } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { makeFolder } from '../filesystem.ts';
import { fetchFile, offered, type FileJob } from './downloadFile.ts';
import { bytesOf } from './disk/atomicFile.ts';
import type { Hub } from './hub/endpoint.ts';
import type { Ledger } from './disk/manifest.ts';
import { takeLock } from './disk/lockFile.ts';
import type { Offer } from './hub/remoteFile.ts';
import { keptBytes } from './disk/partialFile.ts';
import type { Persistence } from './retry.ts';
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
export interface Transfer {
  readonly hub: Hub;
  readonly targets: readonly Target[];
  /** Size of all files, where the catalogue gives it. */
  readonly bytesTotal: number;
  readonly folder: string;
  readonly ledger: Ledger;
  readonly persistence: Persistence;
  readonly freeBytes: FreeBytes;
  readonly signal: AbortSignal;
  readonly onProgress: OnDownload;
  readonly onTrouble: (sentence: string) => void;
  /** Files that are there already. */
  readonly isThere: (target: Target) => Promise<boolean>;
}

// So much stays free beside the model, for what else the machine has to write.
const reserve = 64 * 2 ** 20;

interface Piece {
  readonly target: Target;
  /** undefined = it is there. */
  readonly offer: Offer | undefined;
  done: number;
}

/** Fetches what is missing of a model, one file after the other, and records it. Returns the bytes of all files. */
export async function transfer(job: Transfer): Promise<number> {
  const pieces = await piecesOf(job);
  const told = pieces.reduce((sum, { offer, done }) => sum + (offer?.bytes ?? done), 0);
  const total = job.bytesTotal || (pieces.some(({ offer }) => offer && offer.bytes === undefined) ? 0 : told);
  const tell = (): void => job.onProgress(progressOf(sumOf(pieces), total));
  tell();
  await makeFolder(job.folder);
  const watch = (missing: number): Promise<void> => enough(job, Math.max(missing, total - sumOf(pieces)));
  await watch(0);
  for (const piece of pieces) {
    const onBytes = (bytes: number): void => {
      piece.done = bytes;
      tell();
    };
    if (piece.offer) await fetchPiece({ ...job, target: piece.target, watch, onBytes }, piece.offer);
  }
  const done = sumOf(pieces);
  // Where nobody could tell the size beforehand, it is known now.
  if (done !== total) job.onProgress(progressOf(done, done));
  return done;
}

const sumOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { done }) => sum + done, 0);

async function piecesOf(job: Transfer): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  for (const target of job.targets) {
    const there = await job.isThere(target);
    const offer = there ? undefined : await offered({ ...job, target });
    pieces.push({
      target,
      offer,
      done: offer ? await keptBytes(target, offer) : ((await bytesOf(target.path)) ?? 0),
    });
  }
  return pieces;
}

type PieceJob = Transfer & Pick<FileJob, 'target' | 'watch' | 'onBytes'>;

async function fetchPiece(job: PieceJob, offer: Offer): Promise<void> {
  const { ledger, persistence, signal, target, onBytes } = job;
  await using lock = await takeLock(target.path);
  // Another process may have finished it meanwhile.
  if (await job.isThere(target)) return onBytes((await bytesOf(target.path)) ?? 0);
  const { bytes, sha256, commit } = await fetchFile({ ...job, lock }, offer);
  const record = { bytes, sha256, commit, completed: new Date().toISOString() };
  await ledger.change((records) => void records.set(target.key, record), { ...persistence, signal });
}

async function enough({ freeBytes, folder }: Transfer, missing: number): Promise<void> {
  if (missing <= 0) return;
  const free = await freeBytes(folder);
  if (free >= missing + reserve) return;
  throw new Fault(
    'INSUFFICIENT_DISK_SPACE',
    `${folder} has ${megabytes(free)} free, and ${megabytes(missing + reserve)} are needed: ${megabytes(missing)} to fetch, and ${megabytes(reserve)} that stay free for others; make room, or choose another folder with --models`,
  );
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
