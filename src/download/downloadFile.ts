import { Fault } from '../fault.ts';
import { StallTimeout } from './hub/request.ts';
import { downloadRange, expectedOf, type RangeJob, type Measure } from './downloadRange.ts';
import { magic } from './disk/modelFile.ts';
import { nameOf, fetchRemoteFile, type RemoteFile } from './hub/remoteFile.ts';
import { PartialFile } from './disk/partialFile.ts';
import { retry, type RetryOptions } from './retry.ts';
import type { Target } from './target.ts';

/** One file to fetch, and who watches over it. */
export type FileJob = Omit<RangeJob, 'remoteFile' | 'partialFile' | 'stallTimeout'> &
  Pick<RetryOptions, 'policy' | 'signal' | 'onRetry'>;

/** A file that was fetched. */
export interface DownloadedFile {
  readonly bytes: number;
  readonly sha256: string;
  readonly commit: string;
}

/** Asks the hub what a file is, and does not give up at the first trouble. */
export const resolveRemoteFile = (
  job: Pick<FileJob, 'hub' | 'target' | 'policy' | 'signal' | 'onRetry'>,
): Promise<RemoteFile> => retry({ ...job, name: nameOf(job.target), progress: () => 0 }, () => requestRemoteFile(job));

/** Fetches a file, going on from what is there of it, checks it, and puts it in its place. */
export async function downloadFile(job: FileJob, resolved: RemoteFile): Promise<DownloadedFile> {
  const { target, signal, policy } = job;
  let remoteFile = resolved;
  await using partialFile = await PartialFile.open(target, remoteFile, signal);
  let size: number | undefined;
  await retry({ ...job, name: nameOf(target), progress: () => partialFile.bytes }, async (failures) => {
    if (failures > 0) {
      const now = await requestRemoteFile(job);
      // What is there is of a file that the hub no longer has.
      if (now.etag !== remoteFile.etag || now.bytes !== remoteFile.bytes) await partialFile.restart(target, now, '');
      remoteFile = now;
    }
    if (partialFile.bytes > 0 && partialFile.bytes === expectedOf(target, remoteFile).bytes) return;
    using stallTimeout = new StallTimeout(signal, policy.stallMs);
    size = await downloadRange({ ...job, remoteFile, partialFile, stallTimeout });
  });
  const { bytes } = partialFile;
  const sha256 = partialFile.digest();
  const expected = expectedOf(target, remoteFile);
  const actual = { bytes, sha256, head: await partialFile.magic() };
  const wrong = findMismatch(actual, { ...expected, bytes: expected.bytes ?? size });
  if (wrong !== undefined) {
    const aside = `it is set aside as ${await partialFile.quarantine()}`;
    throw new Fault(
      'CHECKSUM_MISMATCH',
      `${nameOf(target)} came with ${wrong}; ${aside}${mismatchHint(actual, target)}`,
    );
  }
  await job.lock.check();
  await partialFile.commit();
  return { bytes, sha256, commit: remoteFile.commit };
}

async function requestRemoteFile({
  hub,
  target,
  signal,
  policy,
}: Pick<FileJob, 'hub' | 'target' | 'signal' | 'policy'>): Promise<RemoteFile> {
  using stallTimeout = new StallTimeout(signal, policy.stallMs);
  return await fetchRemoteFile(hub, target, stallTimeout);
}

/** What a file is. */
interface ActualFile {
  readonly bytes: number;
  readonly sha256: string;
  /** What it begins with, so many characters as `magic` has. */
  readonly head: string;
}

/** How a file differs from what it must be; undefined = in nothing that is known. */
export function findMismatch(actual: ActualFile, expected: Measure): string | undefined {
  if (expected.bytes !== undefined && actual.bytes !== expected.bytes)
    return `${actual.bytes} bytes instead of ${expected.bytes}`;
  if (expected.sha256 !== undefined && actual.sha256 !== expected.sha256)
    return `SHA-256 ${actual.sha256} instead of ${expected.sha256}`;
  // Where no hash is known, this at least tells a model from a page.
  if (actual.head !== magic) return `"${printable(actual.head)}" at its start instead of "${magic}": it is no model`;
  return undefined;
}

function mismatchHint({ head }: ActualFile, { expected }: Target): string {
  if (head !== magic) return '; look into it, for a hub or a network that wants a login answers with a page';
  return `, download it again${expected.sha256 === undefined ? '' : ', or correct the hash in the catalogue'}`;
}

const printable = (head: string): string => head.replaceAll(/[^ -~]/g, '.');
