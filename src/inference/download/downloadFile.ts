import { Fault } from '../../protocol/fault.ts';
import type { Lock } from './disk/lockFile.ts';
import { findMismatch, ggufMagic, type ActualFile } from './disk/modelFile.ts';
import { PartialFile } from './disk/partialFile.ts';
import { downloadRange } from './downloadRange.ts';
import type { HubSettings } from './hub/endpoint.ts';
import { fetchRemoteFile, type RemoteFile } from './hub/remoteFile.ts';
import { retry, type RetryPolicy } from './retry.ts';
import { describeTarget, type ExpectedFile, type Target } from './target.ts';

/** A file that is missing on disk, as the hub has it. */
export interface MissingFile {
  readonly target: Target;
  readonly remoteFile: RemoteFile;
  /** Bytes of it in a partial file of an earlier attempt. */
  readonly resumeFrom: number;
}

/** How a file is downloaded. */
export interface FileDownloadOptions {
  readonly hub: HubSettings;
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  /** The lock of the target, which the caller holds. */
  readonly lock: Lock;
  readonly onRetry: (message: string) => void;
  /** Receives the number of bytes on disk. */
  readonly onBytes: (bytes: number) => void;
  /** Called now and then with the number of missing bytes; throws to end the download. */
  readonly checkSpace: (missingBytes: number) => Promise<void>;
}

/** A file that was downloaded and verified. */
export interface DownloadedFile {
  readonly bytes: number;
  readonly sha256: string;
  readonly commit: string;
}

/**
 * Downloads one file: resumes its partial file, retries until all bytes are there, verifies size and SHA-256, and moves it
 * to its path. When the hub has another version at a retry, it starts over.
 * @throws Fault DOWNLOAD_FAILED after too many attempts, CHECKSUM_MISMATCH when the content is wrong (it is then quarantined).
 * Also the errors of `fetchRemoteFile`, `downloadRange` and `checkSpace`; the signal's reason; the system's error.
 */
export async function downloadFile(
  { target, remoteFile: resolvedFile }: MissingFile,
  { hub, policy, signal, lock, onRetry, onBytes, checkSpace }: FileDownloadOptions,
): Promise<DownloadedFile> {
  const name = describeTarget(target);
  const { stallMs } = policy;
  let remoteFile = resolvedFile;
  let wholeBytes: number | undefined;
  await using partialFile = await PartialFile.open(target, remoteFile, signal);
  await retry({ name, policy, signal, onRetry, progress: () => partialFile.bytes }, async (failures) => {
    if (failures > 0) {
      const latest = await fetchRemoteFile(hub, target, { signal, stallMs });
      if (latest.etag !== remoteFile.etag || latest.bytes !== remoteFile.bytes) await partialFile.restart(latest, '');
      remoteFile = latest;
    }
    const expected = expectedOf(target, remoteFile);
    if (partialFile.bytes > 0 && partialFile.bytes === expected.bytes) return;
    const range = { hub, target, remoteFile, expected, partialFile, lock, signal, stallMs, onBytes, checkSpace };
    wholeBytes = await downloadRange(range);
  });
  const { bytes } = partialFile;
  const sha256 = partialFile.digest();
  const expected = expectedOf(target, remoteFile);
  const actual = { bytes, sha256, magic: await partialFile.readMagic() };
  const mismatch = findMismatch(actual, { ...expected, bytes: expected.bytes ?? wholeBytes });
  if (mismatch !== undefined) {
    const quarantined = `it is set aside as ${await partialFile.quarantine()}`;
    throw new Fault(
      'CHECKSUM_MISMATCH',
      `${name} came with ${mismatch}; ${quarantined}${mismatchHint(actual, target)}`,
    );
  }
  await lock.check();
  await partialFile.commit();
  return { bytes, sha256, commit: remoteFile.commit };
}

/** What a file must be: the catalogue's values count; the hub's fill the gaps. */
export const expectedOf = ({ expected }: Target, remoteFile: RemoteFile): ExpectedFile => ({
  bytes: expected.bytes ?? remoteFile.bytes,
  sha256: expected.sha256 ?? remoteFile.sha256,
});

function mismatchHint({ magic }: ActualFile, { expected }: Target): string {
  if (magic !== ggufMagic) return '; look into it, for a hub or a network that wants a login answers with a page';
  return `, download it again${expected.sha256 === undefined ? '' : ', or correct the hash in the catalogue'}`;
}
