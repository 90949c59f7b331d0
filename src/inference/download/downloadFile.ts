import type { IncomingHttpHeaders } from 'node:http';
import type { HubSettings } from './hub/endpoint.ts';
import { type HubResponse, parseContentLength, requestFile, type StallTimeout, stallTimeoutOf } from './hub/request.ts';
import { fetchRemoteFile, type RemoteFile } from './hub/remoteFile.ts';
import type { Lock } from './disk/lockFile.ts';
import type { FileRecord } from './disk/manifest.ts';
import { PartialFile } from './disk/partialFile.ts';
import { retry, type RetryPolicy, TransientError } from './retry.ts';
import { describeTarget, type ExpectedFile, type Target } from './target.ts';
import { Fault } from '../../protocol/fault.ts';
import { type ActualFile, findMismatch, ggufMagic } from './disk/modelFile.ts';

/** A file that is missing on disk, as the hub has it. */
export interface MissingFile {
  readonly target: Target;
  readonly remoteFile: RemoteFile;
  /** Bytes of it in a partial file of an earlier attempt. */
  readonly resumeFrom: number;
}

export interface FileDownloadOptions {
  readonly hub: HubSettings;
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  /** The lock of the target, which the caller holds. It is checked before each write. */
  readonly lock: Lock;
  readonly onRetry: (message: string) => void;
  /** Receives the number of bytes on disk, after each chunk. */
  readonly onBytes: (bytes: number) => void;
  /** Called every 16 MiB with the number of missing bytes; throws to end the download. */
  readonly checkSpace: (missingBytes: number) => Promise<void>;
}

/**
 * Downloads one file: resumes its partial file, retries until all bytes are there, verifies size and SHA-256, and moves it
 * to its path. When the hub has another version at a retry, it starts over.
 * @throws Fault DOWNLOAD_FAILED after too many attempts, CHECKSUM_MISMATCH when the content is wrong (it is then quarantined).
 * Also the errors of `fetchRemoteFile`, `downloadRange` and `checkSpace`; the signal's reason; the system's error.
 */
export async function downloadFile(
  { target, remoteFile: resolvedFile }: MissingFile,
  { onRetry, ...options }: FileDownloadOptions,
): Promise<Omit<FileRecord, 'completed'>> {
  const { hub, policy, signal, lock } = options;
  const name = describeTarget(target);
  let remoteFile = resolvedFile;
  let wholeBytes: number | undefined;
  await using partialFile = await PartialFile.open(target, remoteFile, signal);
  await retry({ name, policy, signal, onRetry, progress: () => partialFile.bytes }, async (failures) => {
    if (failures > 0) {
      const latest = await fetchRemoteFile(hub, target, { signal, stallMs: policy.stallMs });
      if (latest.etag !== remoteFile.etag || latest.bytes !== remoteFile.bytes) await partialFile.restart(latest, '');
      remoteFile = latest;
    }
    const expected = expectedOf(target, remoteFile);
    if (partialFile.bytes > 0 && partialFile.bytes === expected.bytes) return;
    wholeBytes = await downloadRange({ ...options, target, remoteFile, expected, partialFile });
  });
  const expected = expectedOf(target, remoteFile);
  const actual = await partialFile.readContent();
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
  return { bytes: actual.bytes, sha256: actual.sha256, commit: remoteFile.commit };
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

/** One attempt to download the bytes that a partial file lacks. */
interface RangeRequest extends Omit<FileDownloadOptions, 'onRetry'>, Omit<MissingFile, 'resumeFrom'> {
  readonly expected: ExpectedFile;
  readonly partialFile: PartialFile;
}

const checkSpaceEveryBytes = 16 * 2 ** 20;

/**
 * Downloads the rest of a file with one HTTP Range request and appends it to the partial file. The request resumes, with
 * If-Range where possible, when a validator of the delivering host (`validatorOf`) or a SHA-256 can show that both parts are
 * of one file; without them it asks for the whole file.
 *
 * | response | what happens |
 * | --- | --- |
 * | 200, of the same version | the partial file starts over with this body |
 * | 206, resumed, of the same version, from our last byte on, with our size and validator (with a SHA-256 also without) | the body is appended |
 * | other 2xx or 3xx, 416 | the partial file starts over; TransientError |
 * | other error status | `requestFile` throws |
 * | body ends early, or stalls | TransientError; the bytes so far are kept |
 *
 * Returns the size of the whole file; undefined when neither catalogue, hub nor response give it.
 * @throws TransientError when a retry may help; Fault for other statuses, for a lost lock, and of `checkSpace`.
 */
async function downloadRange(range: RangeRequest): Promise<number | undefined> {
  const { hub, target, expected, partialFile, lock, signal, policy, onBytes, checkSpace } = range;
  using stallTimeout = stallTimeoutOf(signal, policy.stallMs);
  const { validator } = partialFile;
  const resumes = partialFile.bytes > 0 && (validator !== '' || expected.sha256 !== undefined);
  const ifRange = validator === '' ? {} : { 'if-range': validator };
  const headers = resumes ? { range: `bytes=${partialFile.bytes}-`, ...ifRange } : {};
  const response = await requestFile(hub, target, { method: 'GET', headers, stallTimeout });
  const responseBytes = await preparePartialFile(range, response, resumes);
  const wholeBytes = expected.bytes ?? responseBytes;
  onBytes(partialFile.bytes);
  let spaceCheckedAt = partialFile.bytes;
  // At the expected size it reads once more: a body that is too long must fail verification.
  while (partialFile.bytes <= (wholeBytes ?? Infinity)) {
    const chunk = await readChunk(response.body, stallTimeout);
    if (!chunk) break;
    await lock.check();
    await partialFile.append(chunk);
    onBytes(partialFile.bytes);
    if (partialFile.bytes - spaceCheckedAt < checkSpaceEveryBytes) continue;
    spaceCheckedAt = partialFile.bytes;
    await checkSpace(Math.max(0, (wholeBytes ?? 0) - partialFile.bytes));
  }
  // A 200 response that is complete by its own Content-Length has the wrong size, which verification reports; any other short response was cut.
  const isCompleteResponse = response.status === 200 && responseBytes === partialFile.bytes;
  if (partialFile.bytes < (wholeBytes ?? 0) && !isCompleteResponse) throw new TransientError('the connection was cut');
  return wholeBytes;
}

async function readChunk(body: HubResponse['body'], stallTimeout: StallTimeout): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await stallTimeout.guard(body.next());
    return done ? undefined : value;
  } catch (cause) {
    throw stallTimeout.signal.reason ?? new TransientError('the connection was cut', { cause });
  }
}

async function preparePartialFile(
  { remoteFile, expected, partialFile }: RangeRequest,
  { status, headers, host, fileHeaders }: HubResponse,
  resumes: boolean,
): Promise<number | undefined> {
  const isSameVersion = fileHeaders.etag === undefined || fileHeaders.etag === remoteFile.etag;
  if (status === 200 && isSameVersion) {
    await partialFile.restart(remoteFile, validatorOf(headers));
    return parseContentLength(headers['content-length']);
  }
  if (status === 206 && isSameVersion && resumes) {
    const { from, wholeBytes } = parseContentRange(headers);
    const startsAtOurEnd = from === partialFile.bytes;
    const hasExpectedSize = wholeBytes === (expected.bytes ?? wholeBytes);
    const { validator } = partialFile;
    const sent = headers[isStrongEtag(validator) ? 'etag' : 'last-modified'] ?? '';
    // Where no SHA-256 finds a mixed file in the end, a host that ignores If-Range must not mix two.
    const isUnverifiable = validator === '' || sent === '';
    const isSameServerFile = isUnverifiable ? expected.sha256 !== undefined : sent === validator;
    if (startsAtOurEnd && hasExpectedSize && isSameServerFile) return wholeBytes;
  }
  await partialFile.restart(remoteFile, '');
  throw new TransientError(`${host} has another file now (${status})`);
}

function parseContentRange(headers: IncomingHttpHeaders): { readonly from?: number; readonly wholeBytes?: number } {
  const match = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers['content-range'] ?? '');
  return match ? { from: Number(match[1]), wholeBytes: Number(match[2]) } : {};
}

const minLastModifiedAgeMs = 60_000;

/**
 * The validator of a response for If-Range: its strong ETag, else its Last-Modified where that is a strong validator, which
 * it is when it is at least a minute older than the response (RFC 9110, 8.8.2.2); else "".
 */
function validatorOf(headers: IncomingHttpHeaders): string {
  const { etag = '', date = '', 'last-modified': lastModified = '' } = headers;
  if (isStrongEtag(etag)) return etag;
  const ageMs = Date.parse(date) - Date.parse(lastModified);
  return ageMs >= minLastModifiedAgeMs ? lastModified : '';
}

const isStrongEtag = (etag: string): boolean => /^"[^"]*"$/.test(etag);
