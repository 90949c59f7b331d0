import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { unreadBytes } from './slowReader.ts';

/** A file of the fake hub. */
export interface HubFile {
  readonly content: Buffer;
  /** SHA-256 that the hub reports; default: the real one; "" = none. */
  readonly linkedEtag?: string;
  /** Size that the hub reports; default: the real one. */
  readonly linkedBytes?: number;
  /** ETag of the host that delivers the content; default: one of the content; "" = none. */
  readonly etag?: string;
  /** Last-Modified of the host that delivers the content, dated one day later; default: none. */
  readonly lastModified?: string;
  /** The host ignores If-Range, and its 206 responses name no version. */
  readonly careless?: boolean;
  /** The hub delivers the content itself instead of a redirect. */
  readonly direct?: boolean;
  /** The content is sent without a Content-Length. */
  readonly chunked?: boolean;
}

/** A fault of one response. */
export type ResponseFault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The connection is cut after `after` bytes. */
  | { readonly kind: 'cut'; readonly after: number }
  /** Nothing is sent after `after` bytes. */
  | { readonly kind: 'stall'; readonly after: number }
  /** Only `bytes` bytes are sent, as if they were the whole content. */
  | { readonly kind: 'short'; readonly bytes: number }
  /** The Range header is ignored. */
  | { readonly kind: 'whole' };

/** A request that the hub or the store received. */
export interface HubRequest {
  readonly host: 'hub' | 'store';
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A fake Hugging Face hub. It redirects to a second host, the store, which delivers the content of files. */
export class FakeHub implements AsyncDisposable {
  readonly requests: HubRequest[] = [];
  /** Faults of the next responses of each host, in order. */
  readonly faults: { readonly hub: ResponseFault[]; readonly store: ResponseFault[] } = { hub: [], store: [] };
  /** Files by OWNER/NAME/FILE. */
  readonly files = new Map<string, HubFile>();
  /** Repositories that require the token. */
  readonly gated = new Set<string>();
  /** Maximum of bytes in the buffers of the operating system: a client that is killed loses them. */
  maxUnreadBytes = Infinity;
  /** Bytes of content that each response has sent. */
  readonly contentResponses: { bytesSent: number }[] = [];
  /** Called after each piece that was sent. */
  onBytesSent: () => void = () => undefined;
  /** Awaited before a connection is cut: a client may drop bytes that it has received but not read. */
  beforeCut: (bytes: number) => Promise<void> = async () => undefined;
  #mostSent = Infinity;
  readonly #waiting = new Set<() => void>();
  readonly #hub: Server;
  #url = '';
  readonly #store: Server;

  private constructor() {
    this.#hub = createServer((request, response) => void this.#answer('hub', request, response));
    this.#store = createServer((request, response) => void this.#answer('store', request, response));
  }

  static async open(): Promise<FakeHub> {
    const hub = new FakeHub();
    await Promise.all([
      once(hub.#hub.listen(0, 'localhost'), 'listening'),
      once(hub.#store.listen(0, '127.0.0.1'), 'listening'),
    ]);
    hub.#url = `http://localhost:${(hub.#hub.address() as AddressInfo).port}`;
    return hub;
  }

  /** The value for HF_ENDPOINT. */
  get url(): string {
    return this.#url;
  }

  /** Bytes after which each response waits until a test allows more; rounded up to a multiple of 64 KiB. */
  get maxBytesSent(): number {
    return this.#mostSent;
  }

  set maxBytesSent(bytes: number) {
    this.#mostSent = bytes;
    for (const resume of this.#waiting) resume();
    this.#waiting.clear();
  }

  /** Bytes of content that were sent in all. */
  get bytesServed(): number {
    return this.contentResponses.reduce((sum, { bytesSent }) => sum + bytesSent, 0);
  }

  /** The GET requests to a host. */
  contentRequests(host: HubRequest['host'] = 'store'): readonly HubRequest[] {
    return this.requests.filter((request) => request.host === host && request.method === 'GET');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#hub, this.#store]) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #answer(host: HubRequest['host'], request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const { pathname } = new URL(url, this.url);
    this.requests.push({ host, method, path: pathname, headers });
    const responseFault = method === 'GET' || host === 'hub' ? this.faults[host].shift() : undefined;
    if (responseFault?.kind === 'status')
      return void response.writeHead(responseFault.status, responseFault.headers).end();
    const [, owner, name, , revision, ...rest] = pathname.split('/').map(decodeURIComponent);
    const repo = `${owner}/${name}`;
    if (host === 'hub' && this.gated.has(repo) && headers.authorization !== 'Bearer hf_secret')
      return void response.writeHead(401, { 'x-error-code': 'GatedRepo' }).end();
    const file = this.files.get(`${repo}/${rest.join('/')}`);
    if (!file) return void response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end('Entry not found');
    if (host === 'store' || file.direct) return this.#deliver(file, request, response, responseFault);
    const linkedEtag = file.linkedEtag ?? sha256(file.content);
    const linked = linkedEtag === '' ? {} : { 'x-linked-etag': `"${linkedEtag}"` };
    const size = { 'x-linked-size': String(file.linkedBytes ?? file.content.length) };
    const location = `http://127.0.0.1:${(this.#store.address() as AddressInfo).port}${pathname}?signature=secret`;
    const facts = { ...linked, ...size, 'x-repo-commit': `commit-of-${revision}` };
    response.writeHead(302, { ...facts, location, 'content-length': 0 }).end();
  }

  async #deliver(
    file: HubFile,
    request: IncomingMessage,
    response: ServerResponse,
    responseFault?: ResponseFault,
  ): Promise<void> {
    const {
      content,
      chunked = false,
      careless = false,
      etag = `"${sha256(content).slice(0, 32)}"`,
      lastModified,
    } = file;
    const size = content.length;
    const { range = '', 'if-range': ifRange } = request.headers;
    const isSame =
      careless || ifRange === undefined || (ifRange !== '' && (ifRange === etag || ifRange === lastModified));
    const from = responseFault?.kind !== 'whole' && isSame ? Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0) : 0;
    const dates = lastModified !== undefined && { 'last-modified': lastModified, date: nextDay(lastModified) };
    if (from > 0 && from >= size) return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    const to = responseFault?.kind === 'short' ? from + responseFault.bytes : size;
    const span = from > 0 ? { 'content-range': `bytes ${from}-${size - 1}/${size}` } : {};
    response.writeHead(from > 0 ? 206 : 200, {
      ...(!(careless && from > 0) && { ...(etag !== '' && { etag }), ...dates }),
      ...span,
      ...(!chunked && { 'content-length': to - from }),
    });
    if (request.method === 'HEAD') return void response.end();
    const end =
      responseFault?.kind === 'cut' || responseFault?.kind === 'stall' ? Math.min(to, from + responseFault.after) : to;
    response.flushHeaders();
    await this.#send(content.subarray(from, end), response);
    if (responseFault?.kind === 'cut') await this.beforeCut(end);
    if (responseFault?.kind === 'cut') response.destroy();
    else if (responseFault?.kind !== 'stall') response.end();
  }

  async #untilRead({ socket }: ServerResponse): Promise<void> {
    if (this.maxUnreadBytes === Infinity) return;
    while (socket && !socket.destroyed && (await unreadBytes(socket)) > this.maxUnreadBytes) await sleep(2);
  }

  async #untilAllowed(sent: number, response: ServerResponse): Promise<void> {
    while (sent >= this.#mostSent && !response.destroyed) {
      await new Promise<void>((resolve) => {
        response.once('close', resolve);
        this.#waiting.add(() => {
          response.off('close', resolve);
          resolve();
        });
      });
    }
  }

  async #send(content: Buffer, response: ServerResponse): Promise<void> {
    const piece = 2 ** 16;
    const answer = { bytesSent: 0 };
    this.contentResponses.push(answer);
    for (let from = 0; from < content.length && !response.destroyed; from += piece) {
      const bytes = content.subarray(from, from + piece);
      await this.#untilAllowed(from, response);
      await this.#untilRead(response);
      if (response.destroyed) return;
      await new Promise<void>((resolve) => {
        response.once('close', resolve);
        response.write(bytes, () => {
          response.off('close', resolve);
          resolve();
        });
      });
      answer.bytesSent += bytes.length;
      this.onBytesSent();
    }
  }
}

const nextDay = (date: string): string => new Date(Date.parse(date) + 86_400_000).toUTCString();

const digests = new WeakMap<Buffer, string>();

/** The SHA-256 of a content, which must not change: each is hashed once. */
export function sha256(content: Buffer): string {
  const digest = digests.get(content) ?? createHash('sha256').update(content).digest('hex');
  digests.set(content, digest);
  return digest;
}

/** Pseudorandom bytes after the magic number of a GGUF file; the same for the same seed. */
export function seededBytes(length: number, seed = 1): Buffer {
  const content = Buffer.alloc(length);
  let state = seed >>> 0 || 1;
  for (let offset = 0; offset + 4 <= length; offset += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    content.writeUInt32LE(state >>> 0, offset);
  }
  content.write('GGUF');
  return content;
}
