import { readFile } from 'node:fs/promises';
import { STATUS_CODES, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { describeError } from '../../protocol/fault.ts';
import { editorSchema } from '../../graph/compile/editorSchema.ts';
import type { OpenAiApi } from '../openai/api.ts';
import { isApiPath } from '../openai/routes.ts';
import type { ServerContext } from '../session/session.ts';
import { splitTarget, type AccessCheck, type AccessDenied } from './access.ts';
import type { Page } from './pageFiles.ts';

interface HttpResponse {
  readonly status: number;
  /** Default: text/plain for a string, application/json for an object. */
  readonly type?: string;
  readonly body: object | string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

interface HttpParts {
  readonly api: OpenAiApi | undefined;
  /** Why no more connections are accepted now; undefined: there is room. */
  readonly findFull: () => string | undefined;
  readonly page: Page;
}

/**
 * Creates the handler of plain HTTP requests: /health/live, /health/ready, /metrics, /schema, /proto, /graphs, and the page
 * with its files; with `api` also of those under /v1. It makes one response per socket at a time, so that pipelined requests
 * take no memory for theirs. A socket is closed after a request that has a body or may not access the server.
 */
export function answerHttp(access: AccessCheck, context: ServerContext, { api, ...parts }: HttpParts): RequestListener {
  return (request, response) => {
    const { socket } = request;
    const denied = access(request);
    // Names of graphs, and what else is in a response, are never taken for a page or a script.
    response.setHeader('x-content-type-options', 'nosniff');
    const previous = lastResponses.get(socket);
    lastResponses.set(socket, new Promise((resolve) => response.once('close', resolve)));
    const respond = (content: HttpResponse): void => {
      const { type, text } = serialize(content);
      response.shouldKeepAlive &&= !denied && !hasBody(request);
      response.writeHead(content.status, { 'content-type': type, ...content.headers });
      response.end(text);
    };
    const [path] = splitTarget(request);
    const answer = async (): Promise<void> => {
      if (api && isApiPath(path)) return api.answer(request, response, path, denied);
      respond(await createResponse(request, denied, context, parts));
    };
    // A socket that was closed after the response before takes none: nothing is to run for it.
    const answerNext = (): Promise<void> | undefined => (socket.writable ? answer() : undefined);
    (previous ? previous.then(answerNext) : answer()).catch((error: unknown) => {
      context.log.error({ err: error }, 'HTTP request failed with an internal error');
      respond(refusal(500, 'internal server error; see the server log'));
    });
  };
}

/** The last response of each socket: resolves when it is complete. */
const lastResponses = new WeakMap<Duplex, Promise<void>>();

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

async function createResponse(
  request: IncomingMessage,
  denied: AccessDenied | undefined,
  context: ServerContext,
  { findFull, page }: Omit<HttpParts, 'api'>,
): Promise<HttpResponse> {
  const [path] = splitTarget(request);
  if (isApiPath(path)) return denied ? refusal(denied.status, denied.reason) : noApi(path);
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return { ...refusal(405, `${request.method} is not allowed here; use GET`), headers: { allow: 'GET, HEAD' } };
  if (path === '/health/live') return { status: 200, body: { status: 'live' } };
  if (path === '/health/ready') return readiness(findBusyReason(context) ?? findFull());
  // The page asks for the token, so it has none yet.
  if (page.has(path) && (denied === undefined || denied.status === 401)) return readPage(page, path, request);
  if (denied) return refusal(denied.status, denied.reason);
  if (path === '/metrics')
    return { status: 200, body: await context.metrics.text(), type: context.metrics.contentType };
  if (path === '/schema/graph.schema.json') return { status: 200, body: editorSchema(context.registry) };
  if (path === '/proto/wire.proto') return { status: 200, body: await readFile(protoFile, 'utf8') };
  if (path === '/graphs') return listGraphs(context);
  if (path.startsWith('/graphs/')) return readGraph(path.slice('/graphs/'.length), context);
  return notFound(path);
}

const refusal = (status: number, error: string): HttpResponse => ({ status, body: { error } });

const noApi = (path: string): HttpResponse =>
  refusal(404, `nothing is at ${path}; serve --openai has the OpenAI-compatible API there`);

const notFound = (path: string): HttpResponse =>
  refusal(404, `nothing is at ${path}; clients connect over WebSocket at /, and the page is at / in a browser`);

async function readPage(page: Page, path: string, { headers }: IncomingMessage): Promise<HttpResponse> {
  const file = await page.read(path);
  if (!file) return notFound(path);
  const { type, body, gzipBody } = file;
  if (!gzipBody || !acceptsGzip(headers['accept-encoding'])) return { status: 200, type, body, headers: file.headers };
  return { status: 200, type, body: gzipBody, headers: { ...file.headers, 'content-encoding': 'gzip' } };
}

const acceptsGzip = (accepted: string | string[] = ''): boolean =>
  String(accepted)
    .split(',')
    .some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding));

const listGraphs = ({ graphs }: ServerContext): Promise<HttpResponse> =>
  graphs.names().then(
    (names) => ({ status: 200, body: { graphs: names } }),
    (error: unknown) => refusal(503, describeError(error)),
  );

async function readGraph(name: string, { graphs }: ServerContext): Promise<HttpResponse> {
  try {
    return { status: 200, body: (await graphs.read(decodeURIComponent(name))) as object };
  } catch (error) {
    if (error instanceof URIError)
      return refusal(404, `the address /graphs/${name} has a % that encodes nothing; write %25`);
    // A graph that cannot be read now has the system's error as its cause.
    const { code } = Object(Object(error).cause) as { readonly code?: unknown };
    return refusal(typeof code === 'string' ? 503 : 404, describeError(error));
  }
}

const protoFile = new URL('../../../proto/turngraph/v1/wire.proto', import.meta.url);

function readiness(reason: string | undefined): HttpResponse {
  if (reason === undefined) return { status: 200, body: { status: 'ready' } };
  return { status: 503, body: { status: 'not ready', reason } };
}

function findBusyReason({ closing, pools }: ServerContext): string | undefined {
  if (closing.aborted) return 'the server is shutting down';
  const [loading] = Object.values(pools).flatMap((pool) => pool.loading);
  return loading === undefined ? undefined : `the model "${loading}" is being loaded`;
}

/**
 * Whether a request asks for a WebSocket. One that offers another protocol, such as `h2c` (Java's HttpClient, `curl --http2`), is
 * answered as plain HTTP/1.1: a server may ignore an upgrade (RFC 9110, 7.8).
 */
export const isWebSocketRequest = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Ignores an upgrade in Node 20, which has no `shouldUpgradeCallback`. It has taken the socket out of its server, so it is given
 * back with the request without that header; then the connection is closed.
 */
export async function ignoreUpgrade(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const closeOnError = (): void => void socket.destroy();
  socket.on('error', closeOnError);
  await lastResponses.get(socket);
  if (socket.destroyed) return;
  socket.off('error', closeOnError);
  const lines = [`${method} ${url} HTTP/${httpVersion}`, 'Connection: close'];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(?:connection|upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

const slowReaderTimeoutMs = 10_000;

/**
 * Rejects a client during the handshake: an HTTP error instead of a WebSocket. Node has handed the socket over as an
 * upgrade: its own response object cannot be used any more.
 */
export function rejectUpgrade(socket: Duplex, status: number, reason: string): void {
  const { type, text } = serialize(refusal(status, reason));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    `Content-Type: ${type}`,
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  socket.on('error', () => socket.destroy());
  // Do not wait for the client to close its side.
  socket.once('finish', () => socket.destroy());
  const timeout = setTimeout(() => socket.destroy(), slowReaderTimeoutMs).unref();
  socket.once('close', () => clearTimeout(timeout));
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.end(text);
}

function serialize({ body, type }: HttpResponse): { readonly type: string; readonly text: string | Buffer } {
  if (Buffer.isBuffer(body)) return { type: type ?? 'application/octet-stream', text: body };
  if (typeof body === 'string') return { type: type ?? 'text/plain; charset=utf-8', text: body };
  return { type: type ?? 'application/json', text: `${JSON.stringify(body)}\n` };
}
