import { readFile } from 'node:fs/promises';
import { ServerResponse, STATUS_CODES, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describeError } from '../fault.ts';
import { editorSchema } from '../graph/editorSchema.ts';
import type { ServerContext } from '../session/session.ts';
import { splitTarget, type AccessDenied } from './access.ts';

/** An HTTP response. An object is sent as JSON. */
interface HttpResponse {
  readonly status: number;
  /** Default: text/plain for a string, application/json for an object. */
  readonly type?: string;
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Creates the handler of plain HTTP requests: /health/live, /health/ready, /metrics, /schema, /proto and /graphs. */
export function answerHttp(
  checkAccess: (request: IncomingMessage) => AccessDenied | undefined,
  context: ServerContext,
): RequestListener {
  return (request, response) => {
    const respond = ({ status, body, type, headers }: HttpResponse): void => {
      const isText = typeof body === 'string';
      const defaultType = isText ? 'text/plain; charset=utf-8' : 'application/json';
      response.writeHead(status, { 'content-type': type ?? defaultType, ...headers });
      response.end(isText ? body : `${JSON.stringify(body)}\n`);
    };
    createResponse(request, checkAccess, context).then(respond, (error: unknown) => {
      context.log.error({ err: error }, 'HTTP request failed with an internal error');
      respond({ status: 500, body: { error: 'internal server error; see the server log' } });
    });
  };
}

async function createResponse(
  request: IncomingMessage,
  checkAccess: (request: IncomingMessage) => AccessDenied | undefined,
  context: ServerContext,
): Promise<HttpResponse> {
  const [path] = splitTarget(request);
  if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed(request.method);
  if (path === '/health/live') return { status: 200, body: { status: 'live' } };
  if (path === '/health/ready') return readiness(context);
  const denied = checkAccess(request);
  if (denied) return { status: denied.status, body: { error: denied.reason } };
  if (path === '/metrics')
    return { status: 200, body: await context.metrics.text(), type: context.metrics.contentType };
  if (path === '/schema/graph.schema.json') return { status: 200, body: editorSchema(context.registry) };
  if (path === '/proto/wire.proto') return { status: 200, body: await readFile(protoFile, 'utf8') };
  if (path === '/graphs') return { status: 200, body: { graphs: await context.graphs.names() } };
  if (path.startsWith('/graphs/')) return readGraph(path.slice('/graphs/'.length), context);
  return { status: 404, body: { error: `nothing is at ${path}; clients connect over WebSocket at /` } };
}

const methodNotAllowed = (method: string | undefined): HttpResponse => ({
  status: 405,
  headers: { allow: 'GET, HEAD' },
  body: { error: `${method} is not allowed here; use GET` },
});

async function readGraph(name: string, { graphs }: ServerContext): Promise<HttpResponse> {
  try {
    return { status: 200, body: (await graphs.read(decodeURIComponent(name))) as object };
  } catch (error) {
    // Includes a malformed percent-encoding of the name.
    const reason = describeError(error);
    return { status: 404, body: { error: reason } };
  }
}

const protoFile = new URL('../../proto/turngraph/v1/wire.proto', import.meta.url);

function readiness(context: ServerContext): HttpResponse {
  const reason = findBusyReason(context);
  if (reason === undefined) return { status: 200, body: { status: 'ready' } };
  return { status: 503, body: { status: 'not ready', reason } };
}

function findBusyReason({ closing, pools }: ServerContext): string | undefined {
  if (closing.aborted) return 'the server is shutting down';
  const [loading] = Object.values(pools).flatMap((pool) => pool.loading);
  return loading === undefined ? undefined : `the model "${loading}" is being loaded`;
}

/**
 * Answers a request with an Upgrade header for another protocol than WebSocket, such as `h2c` (Java's HttpClient,
 * `curl --http2`), as plain HTTP/1.1: a server may ignore an upgrade (RFC 9110, 7.8).
 */
export function ignoreUpgrade(answer: RequestListener, request: IncomingMessage, socket: Duplex): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  socket.on('error', () => socket.destroy());
  response.on('finish', () => socket.end());
  response.assignSocket(socket as Socket);
  answer(request, response);
}

/** Rejects a client during the handshake: an HTTP error instead of a WebSocket. */
export function rejectUpgrade(socket: Duplex, status: number, reason: string): void {
  const body = `${JSON.stringify({ error: reason })}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.on('error', () => socket.destroy());
  // Do not wait for the client to close its side.
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
