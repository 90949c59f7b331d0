import { Fault } from '../../fault.ts';
import { request, parseEtag, parseContentLength, type HubResponse, type StallTimeout } from './request.ts';
import { fileUrl, repoPageUrl, type HubSettings } from './endpoint.ts';
import { TransientError, retryAfterMs } from '../retry.ts';
import type { Target } from '../target.ts';

/** What the hub says that it has: a download belongs to one offer, and starts over when it changes. */
export interface RemoteFile {
  /** What changes when the file does; "" = the hub gives nothing. */
  readonly etag: string;
  readonly bytes: number | undefined;
  readonly sha256: string | undefined;
  readonly commit: string;
}

/** Asks what a file is, without fetching it. @throws Fault CHECKSUM_MISMATCH when it is not what the catalogue says. */
export async function fetchRemoteFile(
  hub: HubSettings,
  target: Target,
  stallTimeout: StallTimeout,
): Promise<RemoteFile> {
  const answer = await request(hub, fileUrl(hub, target), { method: 'HEAD', stallTimeout });
  if (answer.status >= 400) throw errorForStatus(answer, hub, target);
  const remoteFile = parseRemoteFile(answer, answer.status < 300);
  const { sha256, bytes } = target.expected;
  const other = [
    sha256 !== undefined && remoteFile.sha256 !== undefined && sha256 !== remoteFile.sha256
      ? `SHA-256 ${remoteFile.sha256} instead of ${sha256}`
      : '',
    bytes !== undefined && remoteFile.bytes !== undefined && bytes !== remoteFile.bytes
      ? `${remoteFile.bytes} bytes instead of ${bytes}`
      : '',
  ].filter((difference) => difference !== '');
  if (other.length === 0) return remoteFile;
  throw new Fault(
    'CHECKSUM_MISMATCH',
    `${nameOf(target)} is another file on the hub than in the catalogue: ${other.join(', ')}; set its revision, or correct the entry`,
  );
}

/** What an answer tells of the file; `whole` = its own headers are those of the whole file. */
export function parseRemoteFile({ headers, linked }: HubResponse, whole: boolean): RemoteFile {
  const etag = linked.etag ?? (whole ? parseEtag(headers.get('etag') ?? '') : '');
  return {
    etag,
    bytes: linked.bytes ?? (whole ? parseContentLength(headers.get('content-length')) : undefined),
    // Only of files behind a link does the hub promise that the tag is their hash.
    sha256: /^[0-9a-f]{64}$/.test(linked.etag ?? '') ? linked.etag : undefined,
    commit: linked.commit ?? '',
  };
}

/** How a file is called in sentences. */
export const nameOf = ({ repo, file }: Target): string => `${file} of ${repo}`;

const retryableStatuses = new Set([408, 425, 429]);

/** What an answer that is no file means. */
export function errorForStatus(
  { status, headers, fromHub, host }: HubResponse,
  hub: HubSettings,
  target: Target,
): Fault | TransientError {
  const what = nameOf(target);
  if (status >= 500 || retryableStatuses.has(status))
    return new TransientError(`${host} answers ${status}`, { waitMs: retryAfterMs(headers) });
  // Addresses that the hub sends us to are good for a while only: the next try gets a new one.
  if (!fromHub) return new TransientError(`${host} answers ${status}`);
  if (status === 401 || status === 403) return new Fault('DOWNLOAD_FAILED', gatedFault(status, hub, target));
  if (status === 404 || status === 410) {
    const at = target.revision === 'main' ? '' : ` at revision ${target.revision}`;
    return new Fault('DOWNLOAD_NOT_AVAILABLE', `the hub has no ${what}${at}; look at ${repoPageUrl(hub, target.repo)}`);
  }
  return new Fault('DOWNLOAD_FAILED', `${what}: ${host} answers ${status}`);
}

function gatedFault(status: number, hub: HubSettings, { repo }: Target): string {
  const page = repoPageUrl(hub, repo);
  const refused = `the hub refuses ${repo} (${status})`;
  if (hub.token !== '')
    return `${refused}: accept its licence at ${page} with the account that HF_TOKEN belongs to, or set another HF_TOKEN`;
  return `${refused}: it is gated, private or not there; accept its licence at ${page} and set HF_TOKEN to a token of your account`;
}
