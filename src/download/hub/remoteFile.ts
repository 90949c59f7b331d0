import { Fault } from '../../fault.ts';
import { ask, bareTag, wholeNumber, type Answer, type Patience } from './request.ts';
import { addressOf, pageOf, type Hub } from './endpoint.ts';
import { Passing, retryAfterMs } from '../retry.ts';
import type { Target } from '../target.ts';

/** What the hub says that it has: a download belongs to one offer, and starts over when it changes. */
export interface Offer {
  /** What changes when the file does; "" = the hub gives nothing. */
  readonly etag: string;
  readonly bytes: number | undefined;
  readonly sha256: string | undefined;
  readonly commit: string;
}

/** Asks what a file is, without fetching it. @throws Fault CHECKSUM_MISMATCH when it is not what the catalogue says. */
export async function offerOf(hub: Hub, target: Target, patience: Patience): Promise<Offer> {
  const answer = await ask(hub, addressOf(hub, target), { method: 'HEAD', patience });
  if (answer.status >= 400) throw refusalOf(answer, hub, target);
  const offer = offerIn(answer, answer.status < 300);
  const { sha256, bytes } = target.expected;
  const other = [
    sha256 !== undefined && offer.sha256 !== undefined && sha256 !== offer.sha256
      ? `SHA-256 ${offer.sha256} instead of ${sha256}`
      : '',
    bytes !== undefined && offer.bytes !== undefined && bytes !== offer.bytes
      ? `${offer.bytes} bytes instead of ${bytes}`
      : '',
  ].filter((difference) => difference !== '');
  if (other.length === 0) return offer;
  throw new Fault(
    'CHECKSUM_MISMATCH',
    `${nameOf(target)} is another file on the hub than in the catalogue: ${other.join(', ')}; set its revision, or correct the entry`,
  );
}

/** What an answer tells of the file; `whole` = its own headers are those of the whole file. */
export function offerIn({ headers, linked }: Answer, whole: boolean): Offer {
  const etag = linked.etag ?? (whole ? bareTag(headers.get('etag') ?? '') : '');
  return {
    etag,
    bytes: linked.bytes ?? (whole ? wholeNumber(headers.get('content-length')) : undefined),
    // Only of files behind a link does the hub promise that the tag is their hash.
    sha256: /^[0-9a-f]{64}$/.test(linked.etag ?? '') ? linked.etag : undefined,
    commit: linked.commit ?? '',
  };
}

/** How a file is called in sentences. */
export const nameOf = ({ repo, file }: Target): string => `${file} of ${repo}`;

const mayPass = new Set([408, 425, 429]);

/** What an answer that is no file means. */
export function refusalOf({ status, headers, fromHub, host }: Answer, hub: Hub, target: Target): Fault | Passing {
  const what = nameOf(target);
  if (status >= 500 || mayPass.has(status))
    return new Passing(`${host} answers ${status}`, { waitMs: retryAfterMs(headers) });
  // Addresses that the hub sends us to are good for a while only: the next try gets a new one.
  if (!fromHub) return new Passing(`${host} answers ${status}`);
  if (status === 401 || status === 403) return new Fault('DOWNLOAD_FAILED', gated(status, hub, target));
  if (status === 404 || status === 410) {
    const at = target.revision === 'main' ? '' : ` at revision ${target.revision}`;
    return new Fault('DOWNLOAD_NOT_AVAILABLE', `the hub has no ${what}${at}; look at ${pageOf(hub, target.repo)}`);
  }
  return new Fault('DOWNLOAD_FAILED', `${what}: ${host} answers ${status}`);
}

function gated(status: number, hub: Hub, { repo }: Target): string {
  const page = pageOf(hub, repo);
  const refused = `the hub refuses ${repo} (${status})`;
  if (hub.token !== '')
    return `${refused}: accept its licence at ${page} with the account that HF_TOKEN belongs to, or set another HF_TOKEN`;
  return `${refused}: it is gated, private or not there; accept its licence at ${page} and set HF_TOKEN to a token of your account`;
}
