import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { type Environment, lastingProblem, parseRetryAfter, routeTo } from '../../../base/httpRoute.ts';
import { onAbort } from '../../../base/events.ts';
import { TransientError } from '../retry.ts';
import { Fault } from '../../../protocol/fault.ts';
import { version } from '../../../base/packageFiles.ts';
import { describeTarget, type Target } from '../target.ts';
import { fileUrl, type HubSettings, repoPageUrl } from './endpoint.ts';

/** The response of the hub, or of the host that it redirected to. */
export interface HubResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterator<Uint8Array>;
  /** What the hub itself reported about the file, whichever host delivers it. */
  readonly fileHeaders: FileHeaders;
  /** Whether the hub itself responded, and not a host that it redirected to. */
  readonly fromHub: boolean;
  readonly host: string;
}

/** The hub's own headers about a file: X-Linked-Etag, X-Linked-Size, X-Repo-Commit. */
export interface FileHeaders {
  readonly etag: string | undefined;
  readonly bytes: number | undefined;
  readonly commit: string | undefined;
}

export interface HubRequest {
  readonly method: 'GET' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
  readonly stallTimeout: StallTimeout;
}

/** Requests a file; 416 of a GET is left to the caller. @throws TransientError, Fault for other error statuses. */
export async function requestFile(hub: HubSettings, target: Target, options: HubRequest): Promise<HubResponse> {
  const response = await request(hub, fileUrl(hub, target), options);
  if (response.status < 400 || (response.status === 416 && options.method === 'GET')) return response;
  throw errorForStatus(response, hub, target);
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 8;

/**
 * Sends a request and follows redirects: a GET to the end, a HEAD within the hub only.
 * The token is sent to the hub only, and no more after a redirect to another host.
 * @throws TransientError when the host cannot be reached or stalls; Fault DOWNLOAD_FAILED for bad redirects.
 */
export async function request(
  hub: HubSettings,
  address: URL,
  { method, headers, stallTimeout }: HubRequest,
): Promise<HubResponse> {
  let [url, sendsToken] = [address, hub.token !== ''];
  let fileHeaders: FileHeaders = { etag: undefined, bytes: undefined, commit: undefined };
  for (let redirects = 0; redirects < maxRedirects; redirects++) {
    const { host } = url;
    const fromHub = url.origin === hub.endpoint.origin;
    sendsToken &&= fromHub;
    const response = await stallTimeout
      .guard(
        send(hub.env, url, method, stallTimeout.signal, {
          ...headers,
          'accept-encoding': 'identity',
          'user-agent': `turngraph/${version}`,
          ...(sendsToken && { authorization: `Bearer ${hub.token}` }),
        }),
      )
      .catch((cause: unknown) => {
        const lasting = lastingProblem(cause);
        throw (
          stallTimeout.signal.reason ??
          (lasting === undefined
            ? new TransientError(`${host} cannot be reached (${networkErrorCode(cause)})`, { cause })
            : new Fault('DOWNLOAD_FAILED', `${host} cannot be reached: ${lasting}`, { cause }))
        );
      });
    if (fromHub) fileHeaders = parseFileHeaders(response.headers, fileHeaders);
    const { statusCode: status = 0, headers: received } = response;
    const next = redirectStatuses.has(status) ? redirectTarget(received, url) : undefined;
    if (next === undefined || (method === 'HEAD' && next.origin !== hub.endpoint.origin)) {
      if (method === 'HEAD') response.resume();
      const body = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      return { status, headers: received, body, fileHeaders, fromHub, host };
    }
    response.destroy();
    url = next;
  }
  throw new Fault('DOWNLOAD_FAILED', `${address.host} redirects again and again`);
}

const send = (
  env: Environment,
  url: URL,
  method: string,
  signal: AbortSignal,
  headers: OutgoingHttpHeaders,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = routeTo(url, env).request(url, { method, headers, signal });
    sent.on('error', reject);
    sent.on('response', (response) => resolve(addAbortSignal(signal, response).on('error', () => undefined)));
    sent.end();
  });

function redirectTarget({ location = '' }: IncomingHttpHeaders, from: URL): URL | undefined {
  if (!URL.canParse(location, from.href)) return undefined;
  const next = new URL(location, from);
  if (!/^https?:$/.test(next.protocol))
    throw new Fault(
      'DOWNLOAD_FAILED',
      `${from.host} redirects to "${next.protocol}", and only http and https are followed`,
    );
  if (from.protocol !== 'https:' || next.protocol === 'https:') return next;
  throw new Fault('DOWNLOAD_FAILED', `${from.host} redirects to an address without encryption, on ${next.host}`);
}

function parseFileHeaders(headers: IncomingHttpHeaders, previous: FileHeaders): FileHeaders {
  const [etag, size] = ['etag', 'size'].map((name) => headers[`x-linked-${name}`]?.toString());
  return {
    etag: etag === undefined ? previous.etag : parseEtag(etag),
    bytes: parseContentLength(size) ?? previous.bytes,
    commit: headers['x-repo-commit']?.toString() ?? previous.commit,
  };
}

/** An ETag without its quotes and without the `W/` of a weak one. */
export const parseEtag = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '');

/** The number of bytes in a header; undefined = absent or invalid. */
export const parseContentLength = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

const retryableStatuses = new Set([408, 425, 429]);

function errorForStatus(
  { status, headers, fromHub, host }: HubResponse,
  hub: HubSettings,
  target: Target,
): Fault | TransientError {
  const name = describeTarget(target);
  if (status >= 500 || retryableStatuses.has(status))
    return new TransientError(`${host} answers ${status}`, { waitMs: parseRetryAfter(headers['retry-after']) });
  // The signed URLs that the hub redirects to expire: the next attempt gets a new one.
  if (!fromHub) return new TransientError(`${host} answers ${status}`);
  if (status === 401 || status === 403) return new Fault('DOWNLOAD_FAILED', gatedMessage(status, hub, target));
  if (status === 404 || status === 410) {
    const revision = target.revision === 'main' ? '' : ` at revision ${target.revision}`;
    const page = repoPageUrl(hub, target.repo);
    return new Fault('DOWNLOAD_NOT_AVAILABLE', `the hub has no ${name}${revision}; look at ${page}`);
  }
  return new Fault('DOWNLOAD_FAILED', `${name}: ${host} answers ${status}`);
}

function gatedMessage(status: number, hub: HubSettings, { repo }: Target): string {
  const page = repoPageUrl(hub, repo);
  const refused = `the hub refuses ${repo} (${status})`;
  if (hub.token !== '')
    return `${refused}: accept its licence at ${page} with the account that ${hub.env['HF_TOKEN'] ? 'HF_TOKEN' : 'your token'} belongs to, or set another HF_TOKEN`;
  return `${refused}: it is gated, private or not there; accept its licence at ${page} and set HF_TOKEN to a token of your account`;
}

// The code only: messages of network errors may contain signed URLs and headers.
function networkErrorCode(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
  }
  return 'the connection broke';
}

export type StallTimeout = ReturnType<typeof stallTimeoutOf>;

/**
 * Read timeout of one HTTP exchange: aborts it when nothing arrives for `stallMs`, or when the download is aborted.
 * Not `AbortSignal.timeout`: the time starts anew with each read. Dispose of it to abort what is left of the exchange and
 * to remove its listener from the signal of the download.
 */
export function stallTimeoutOf(downloadSignal: AbortSignal, stallMs: number) {
  const controller = new AbortController();
  const unsubscribe = onAbort(downloadSignal)(() => controller.abort(downloadSignal.reason));
  return {
    /** Aborts the exchange; its reason is why this side did so. */
    signal: controller.signal as AbortSignal,
    /** Waits for one read, and aborts the exchange with a TransientError when it takes longer than `stallMs`. */
    async guard<T>(read: Promise<T>): Promise<T> {
      const stalled = (): void => controller.abort(new TransientError(`nothing came for ${stallMs / 1000} seconds`));
      const timer = setTimeout(stalled, stallMs);
      try {
        return await read;
      } finally {
        clearTimeout(timer);
      }
    },
    [Symbol.dispose](): void {
      unsubscribe();
      controller.abort();
    },
  };
}
