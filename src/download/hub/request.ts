import { Fault } from '../../fault.ts';
import { version } from '../../version.ts';
import type { HubSettings } from './endpoint.ts';
import { TransientError } from '../retry.ts';

/** What a server answered, after redirects; whoever asked reads what it holds. */
export interface HubResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Of the contents, if there are any. */
  readonly body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** What the hub says of the file behind a redirect. */
  readonly linked: FileHeaders;
  /** Whether the hub itself answered, and not a host that it sent us to. */
  readonly fromHub: boolean;
  readonly host: string;
}

/** What the hub says of a file, whoever then delivers it. */
export interface FileHeaders {
  readonly etag: string | undefined;
  readonly bytes: number | undefined;
  readonly commit: string | undefined;
}

/** One question to the hub. */
export interface HubRequest {
  readonly method: 'GET' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
  readonly stallTimeout: StallTimeout;
}

const redirects = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 8;

/**
 * Asks for an address and follows redirects: a GET to the end, a HEAD within the hub.
 * The token is shown to the hub only, and no more once another host has been asked.
 */
export async function request(
  hub: HubSettings,
  address: URL,
  { method, headers, stallTimeout }: HubRequest,
): Promise<HubResponse> {
  let [at, withToken] = [address, hub.token !== ''];
  let linked: FileHeaders = { etag: undefined, bytes: undefined, commit: undefined };
  for (let hop = 0; hop < maxRedirects; hop++) {
    const fromHub = at.origin === hub.endpoint.origin;
    withToken &&= fromHub;
    const response = await stallTimeout
      .guard(
        fetch(at, {
          method,
          redirect: 'manual',
          signal: stallTimeout.signal,
          headers: {
            ...headers,
            'accept-encoding': 'identity',
            'user-agent': `turngraph/${version}`,
            ...(withToken && { authorization: `Bearer ${hub.token}` }),
          },
        }),
      )
      .catch((cause: unknown) => {
        throw (
          stallTimeout.reason() ??
          new TransientError(`${at.host} cannot be reached (${networkErrorCode(cause)})`, { cause })
        );
      });
    if (fromHub) linked = parseFileHeaders(response.headers, linked);
    const next = redirects.has(response.status) ? redirectTarget(response, at) : undefined;
    if (next === undefined || (method === 'HEAD' && next.origin !== hub.endpoint.origin)) {
      // At once: contents that nobody reads end, as if they were all, when the garbage collector takes their response.
      const reading = response.body?.getReader();
      return { status: response.status, headers: response.headers, body: reading, linked, fromHub, host: at.host };
    }
    await response.body?.cancel();
    at = next;
  }
  throw new Fault('DOWNLOAD_FAILED', `${address.host} redirects again and again`);
}

function redirectTarget(response: Response, from: URL): URL | undefined {
  const location = response.headers.get('location') ?? '';
  if (!URL.canParse(location, from.href)) return undefined;
  const next = new URL(location, from);
  const worse = from.protocol === 'https:' && next.protocol !== 'https:';
  if (!worse) return next;
  throw new Fault('DOWNLOAD_FAILED', `${from.host} redirects to an address without encryption, on ${next.host}`);
}

function parseFileHeaders(headers: Headers, before: FileHeaders): FileHeaders {
  const etag = headers.get('x-linked-etag');
  return {
    etag: etag === null ? before.etag : parseEtag(etag),
    bytes: parseContentLength(headers.get('x-linked-size')) ?? before.bytes,
    commit: headers.get('x-repo-commit') ?? before.commit,
  };
}

/** An ETag without its quotes and without the mark of a weak one. */
export const parseEtag = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '');

/** A number of bytes in a header. */
export const parseContentLength = (text: string | null): number | undefined =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

/** Why an exchange broke, in a word or two that hold no address and no header. */
export function networkErrorCode(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
  }
  return 'the connection broke';
}

/** Watches over one exchange: it ends when its asker gives up, or when a server says nothing for too long. */
export class StallTimeout implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #stallMs: number;

  constructor(outer: AbortSignal, stallMs: number) {
    this.#outer = outer;
    this.#stallMs = stallMs;
    outer.addEventListener('abort', this.#giveUp);
    if (outer.aborted) this.#giveUp();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the exchange was ended from this side, if it was. */
  reason(): unknown {
    return this.signal.aborted ? this.signal.reason : undefined;
  }

  /** Waits for what the server must deliver now. */
  async guard<T>(wait: Promise<T>): Promise<T> {
    const tooLong = new TransientError(`nothing came for ${this.#stallMs / 1000} seconds`);
    const timer = setTimeout(() => this.#controller.abort(tooLong), this.#stallMs);
    try {
      return await wait;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends what is left of the exchange. */
  [Symbol.dispose](): void {
    this.#outer.removeEventListener('abort', this.#giveUp);
    this.#controller.abort();
  }

  readonly #giveUp = (): void => this.#controller.abort(this.#outer.reason);
}
