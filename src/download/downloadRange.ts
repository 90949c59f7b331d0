import { request, StallTimeout, parseContentLength, type HubResponse } from './hub/request.ts';
import { fileUrl, type HubSettings } from './hub/endpoint.ts';
import type { Lock } from './disk/lockFile.ts';
import { errorForStatus, type RemoteFile } from './hub/remoteFile.ts';
import type { PartialFile } from './disk/partialFile.ts';
import { TransientError } from './retry.ts';
import type { Target } from './target.ts';

/** What one exchange is to deliver, and where. */
export interface RangeJob {
  readonly hub: HubSettings;
  readonly target: Target;
  readonly remoteFile: RemoteFile;
  readonly partialFile: PartialFile;
  readonly lock: Lock;
  readonly stallTimeout: StallTimeout;
  /** Told how many bytes of the file are there. */
  readonly onBytes: (bytes: number) => void;
  /** Called now and then with the bytes that are missing; throws when there is a reason to stop. */
  readonly checkLock: (missing: number) => Promise<void>;
}

/** What a file must be, as far as catalogue and hub know. */
export interface Measure {
  readonly bytes: number | undefined;
  readonly sha256: string | undefined;
}

/** The word of the catalogue counts; the hub's fills its gaps. */
export const expectedOf = ({ expected }: Target, remoteFile: RemoteFile): Measure => ({
  bytes: expected.bytes ?? remoteFile.bytes,
  sha256: expected.sha256 ?? remoteFile.sha256,
});

const checkLockEveryBytes = 16 * 2 ** 20;

/** Asks once for what is missing, and writes what comes until the server ends; returns the size of the whole file. */
export async function downloadRange(delivery: RangeJob): Promise<number | undefined> {
  const { hub, target, remoteFile, partialFile, lock, stallTimeout, onBytes, checkLock: watch } = delivery;
  // Without a tag or a hash nobody could tell whether two halves are of one file.
  const goesOn =
    partialFile.bytes > 0 &&
    (isStrongEtag(partialFile.serverTag) || expectedOf(target, remoteFile).sha256 !== undefined);
  const tag = isStrongEtag(partialFile.serverTag) ? { 'if-range': partialFile.serverTag } : {};
  const headers = goesOn ? { range: `bytes=${partialFile.bytes}-`, ...tag } : {};
  const answer = await request(hub, fileUrl(hub, target), { method: 'GET', headers, stallTimeout });
  const told = await reconcile(answer, delivery, goesOn);
  const size = expectedOf(target, remoteFile).bytes ?? told;
  onBytes(partialFile.bytes);
  for (let watched = partialFile.bytes; partialFile.bytes <= (size ?? Infinity);) {
    const { value } = await readChunk(answer.body, stallTimeout);
    if (!value) break;
    await lock.check();
    await partialFile.append(value);
    onBytes(partialFile.bytes);
    if (partialFile.bytes - watched < checkLockEveryBytes) continue;
    watched = partialFile.bytes;
    await watch(Math.max(0, (size ?? 0) - partialFile.bytes));
  }
  // A whole file that ends where its server meant it to end is of the wrong length; others were cut.
  const whole = answer.status === 200 && told === partialFile.bytes;
  if (partialFile.bytes < (size ?? 0) && !whole) throw new TransientError('the connection was cut');
  return size;
}

async function readChunk(
  reading: HubResponse['body'],
  stallTimeout: StallTimeout,
): Promise<{ readonly value?: Uint8Array | undefined }> {
  try {
    return reading ? await stallTimeout.guard(reading.read()) : {};
  } catch (cause) {
    throw stallTimeout.reason() ?? new TransientError('the connection was cut', { cause });
  }
}

/** Makes part and answer fit: what comes now goes behind what is there, or replaces it. Returns the size that is told. */
async function reconcile(
  { status, headers, host, linked, ...answer }: HubResponse,
  { hub, target, remoteFile, partialFile }: RangeJob,
  goesOn: boolean,
): Promise<number | undefined> {
  const isOther = linked.etag !== undefined && linked.etag !== remoteFile.etag;
  if (status === 200 && !isOther) {
    await partialFile.restart(target, remoteFile, headers.get('etag') ?? '');
    return parseContentLength(headers.get('content-length'));
  }
  if (status === 206 && goesOn && !isOther) {
    const { from, size } = parseContentRange(headers);
    const expected = expectedOf(target, remoteFile).bytes ?? size;
    const tag = headers.get('etag') ?? '';
    if (
      from === partialFile.bytes &&
      size === expected &&
      (tag === partialFile.serverTag || tag === '' || partialFile.serverTag === '')
    )
      return size;
  }
  if (status >= 400 && status !== 416) throw errorForStatus({ status, headers, host, linked, ...answer }, hub, target);
  await partialFile.restart(target, remoteFile, '');
  throw new TransientError(`${host} has another file now (${status})`);
}

function parseContentRange(headers: Headers): { readonly from?: number; readonly size?: number } {
  const span = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '');
  return span ? { from: Number(span[1]), size: Number(span[2]) } : {};
}

const isStrongEtag = (tag: string): boolean => /^"[^"]*"$/.test(tag);
