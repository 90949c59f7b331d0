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
  /** What the hub says that its hash is; default: what it is; "" = it says nothing. */
  readonly linkedTag?: string;
  /** What the hub says of its size; default: what it is. */
  readonly linkedBytes?: number;
  /** ETag of the host that delivers it; "" = none. */
  readonly tag?: string;
  /** The hub delivers it itself, without redirecting. */
  readonly direct?: boolean;
}

/** What goes wrong with one answer. */
export type ResponseFault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The connection is cut after so many bytes. */
  | { readonly kind: 'cut'; readonly after: number }
  /** Nothing comes after so many bytes. */
  | { readonly kind: 'stall'; readonly after: number }
  /** So many bytes come, as if they were all. */
  | { readonly kind: 'short'; readonly bytes: number }
  /** A Range is not heeded. */
  | { readonly kind: 'whole' };

/** A request that was made. */
export interface HubRequest {
  readonly host: 'hub' | 'store';
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A server that behaves as the hub does: it knows the files, and another host delivers them. */
export class FakeHub implements AsyncDisposable {
  readonly requests: HubRequest[] = [];
  /** What goes wrong with the next answers of each host, one after the other. */
  readonly faults: { readonly hub: ResponseFault[]; readonly store: ResponseFault[] } = { hub: [], store: [] };
  /** Files by OWNER/NAME/FILE. */
  readonly files = new Map<string, HubFile>();
  /** Repositories that only the holder of the token may read. */
  readonly gated = new Set<string>();
  /** The most bytes that may wait in the system to be read by a client: they are lost with it when it is killed. */
  maxUnreadBytes = Infinity;
  /** Bytes of files that were sent with each answer of the store. */
  readonly contentResponses: { bytesSent: number }[] = [];
  /** Told after each piece that was sent. */
  onBytesSent: () => void = () => undefined;
  /** Waited for before a connection is cut: a client may drop what it has received and not read. */
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

  /** What HF_ENDPOINT is to be. */
  get url(): string {
    return this.#url;
  }

  /** Each answer waits behind so many bytes, or the next multiple of 64 KiB, until a test allows more. */
  get maxBytesSent(): number {
    return this.#mostSent;
  }

  set maxBytesSent(bytes: number) {
    this.#mostSent = bytes;
    for (const goOn of this.#waiting) goOn();
    this.#waiting.clear();
  }

  /** Bytes of files that were sent. */
  get bytesServed(): number {
    return this.contentResponses.reduce((sum, { bytesSent }) => sum + bytesSent, 0);
  }

  /** The requests of a host for the contents of files. */
  contentRequests(host: HubRequest['host'] = 'store'): readonly HubRequest[] {
    return this.requests.filter((asked) => asked.host === host && asked.method === 'GET');
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
    const trouble = method === 'GET' || host === 'hub' ? this.faults[host].shift() : undefined;
    if (trouble?.kind === 'status') return void response.writeHead(trouble.status, trouble.headers).end();
    const [, owner, name, , revision, ...rest] = pathname.split('/').map(decodeURIComponent);
    const repo = `${owner}/${name}`;
    if (host === 'hub' && this.gated.has(repo) && headers.authorization !== 'Bearer hf_secret')
      return void response.writeHead(401, { 'x-error-code': 'GatedRepo' }).end();
    const file = this.files.get(`${repo}/${rest.join('/')}`);
    if (!file) return void response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end('Entry not found');
    if (host === 'store' || file.direct) return this.#deliver(file, request, response, trouble);
    const tag = file.linkedTag ?? sha256(file.content);
    const linked = tag === '' ? {} : { 'x-linked-etag': `"${tag}"` };
    const size = { 'x-linked-size': String(file.linkedBytes ?? file.content.length) };
    const location = `http://127.0.0.1:${(this.#store.address() as AddressInfo).port}${pathname}?signature=secret`;
    const facts = { ...linked, ...size, 'x-repo-commit': `commit-of-${revision}` };
    response.writeHead(302, { ...facts, location, 'content-length': 0 }).end();
  }

  async #deliver(
    file: HubFile,
    request: IncomingMessage,
    response: ServerResponse,
    trouble?: ResponseFault,
  ): Promise<void> {
    const { content, tag = `"${sha256(content).slice(0, 32)}"` } = file;
    const size = content.length;
    const { range = '', 'if-range': ifRange } = request.headers;
    const isSame = ifRange === undefined || (tag !== '' && ifRange === tag);
    const from = trouble?.kind !== 'whole' && isSame ? Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0) : 0;
    const etag = tag === '' ? {} : { etag: tag };
    if (from > 0 && from >= size) return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    const to = trouble?.kind === 'short' ? from + trouble.bytes : size;
    const span = from > 0 ? { 'content-range': `bytes ${from}-${size - 1}/${size}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { ...etag, ...span, 'content-length': to - from });
    if (request.method === 'HEAD') return void response.end();
    const until = trouble?.kind === 'cut' || trouble?.kind === 'stall' ? Math.min(to, from + trouble.after) : to;
    response.flushHeaders();
    await this.#send(content.subarray(from, until), response);
    if (trouble?.kind === 'cut') await this.beforeCut(until);
    if (trouble?.kind === 'cut') response.destroy();
    else if (trouble?.kind !== 'stall') response.end();
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

/** The SHA-256 of a content. */
export const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** So many bytes that begin as a model file does and then look like nothing, the same for the same seed. */
export function seededBytes(length: number, seed = 1): Buffer {
  const content = Buffer.alloc(length);
  let state = seed >>> 0 || 1;
  for (let at = 0; at + 4 <= length; at += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    content.writeUInt32LE(state >>> 0, at);
  }
  content.write('GGUF');
  return content;
}
