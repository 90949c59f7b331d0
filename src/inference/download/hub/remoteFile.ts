import { Fault } from '../../../protocol/fault.ts';
import { describeTarget, type ExpectedFile, listDifferences, type Target } from '../target.ts';
import type { HubSettings } from './endpoint.ts';
import { parseContentLength, parseEtag, requestFile, type HubResponse, stallTimeoutOf } from './request.ts';

/** What the hub reports about a file. A partial download belongs to one ETag and starts over when that changes. */
export interface RemoteFile extends ExpectedFile {
  /** Changes when the file does; "" = the hub reports none. */
  readonly etag: string;
  /** Commit of the repository; "" = the hub reports none. */
  readonly commit: string;
}

/** A file's metadata (HEAD). @throws as `requestFile`; Fault CHECKSUM_MISMATCH: not the catalogue's file. */
export async function fetchRemoteFile(
  hub: HubSettings,
  target: Target,
  { signal, stallMs }: { readonly signal: AbortSignal; readonly stallMs: number },
): Promise<RemoteFile> {
  using stallTimeout = stallTimeoutOf(signal, stallMs);
  const remoteFile = parseRemoteFile(await requestFile(hub, target, { method: 'HEAD', stallTimeout }));
  const differences = listDifferences(remoteFile, target.expected).toReversed();
  if (differences.length === 0) return remoteFile;
  throw new Fault(
    'CHECKSUM_MISMATCH',
    `${describeTarget(target)} is another file on the hub than in the catalogue: ${differences.join(', ')}; set its revision, or correct the entry`,
  );
}

function parseRemoteFile({ status, headers, fileHeaders }: HubResponse): RemoteFile {
  // After a redirect to another host the response's own ETag and Content-Length are not those of the file.
  const isFile = status < 300;
  return {
    etag: fileHeaders.etag ?? (isFile ? parseEtag(headers.etag ?? '') : ''),
    bytes: fileHeaders.bytes ?? (isFile ? parseContentLength(headers['content-length']) : undefined),
    // The hub promises only of X-Linked-Etag (files in LFS) that it is the SHA-256.
    sha256: /^[0-9a-f]{64}$/.test(fileHeaders.etag ?? '') ? fileHeaders.etag : undefined,
    commit: fileHeaders.commit ?? '',
  };
}
