import { describeError } from '../fault.ts';
import { readFile } from 'node:fs/promises';
import { STATUS_CODES, type IncomingMessage, type RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { editorSchema } from '../graph/editorSchema.ts';
import type { ServerContext } from '../session/session.ts';
import { splitTarget, type AccessDenied } from './access.ts';

/** What plain HTTP answers: a status and a body, as JSON unless it is a text. */
interface Page {
  readonly status: number;
  /** The content type, where it is not the one of all texts or all JSON. */
  readonly type?: string;
  readonly body: object | string;
}

/** The plain HTTP side of the port. */
export function answerHttp(
  refusalOf: (request: IncomingMessage) => AccessDenied | undefined,
  context: ServerContext,
): RequestListener {
  return (request, response) => {
    const answer = ({ status, body, type }: Page): void => {
      const text = typeof body === 'string';
      const usual = text ? 'text/plain; charset=utf-8' : 'application/json';
      response.writeHead(status, { 'content-type': type ?? usual });
      response.end(text ? body : `${JSON.stringify(body)}\n`);
    };
    createPage(request, refusalOf, context).then(answer, (error: unknown) => {
      context.log.error({ err: error }, 'HTTP request failed with an internal error');
      answer({ status: 500, body: { error: 'internal server error; see the server log' } });
    });
  };
}

async function createPage(
  request: IncomingMessage,
  refusalOf: (request: IncomingMessage) => AccessDenied | undefined,
  context: ServerContext,
): Promise<Page> {
  const [path] = splitTarget(request);
  if (path === '/health/live') return { status: 200, body: { status: 'live' } };
  if (path === '/health/ready') return readiness(context);
  const refusal = refusalOf(request);
  if (refusal) return { status: refusal.status, body: { error: refusal.reason } };
  if (path === '/metrics')
    return { status: 200, body: await context.metrics.text(), type: context.metrics.contentType };
  if (path === '/schema/graph.schema.json') return { status: 200, body: editorSchema(context.registry) };
  if (path === '/proto/wire.proto') return { status: 200, body: await readFile(protoFile, 'utf8') };
  if (path === '/graphs') return { status: 200, body: { graphs: await context.graphs.names() } };
  if (path.startsWith('/graphs/')) return graphPage(path.slice('/graphs/'.length), context);
  return { status: 404, body: { error: `nothing is at ${path}; clients connect over WebSocket at /` } };
}

async function graphPage(name: string, { graphs }: ServerContext): Promise<Page> {
  try {
    return { status: 200, body: (await graphs.read(decodeURIComponent(name))) as object };
  } catch (error) {
    // A name that is no URI text is a name that no graph has.
    const reason = describeError(error);
    return { status: 404, body: { error: reason } };
  }
}

const protoFile = new URL('../../proto/turngraph/v1/wire.proto', import.meta.url);

function readiness(context: ServerContext): Page {
  const reason = busyWith(context);
  if (reason === undefined) return { status: 200, body: { status: 'ready' } };
  return { status: 503, body: { status: 'not ready', reason } };
}

function busyWith({ closing, pools }: ServerContext): string | undefined {
  if (closing.aborted) return 'the server is shutting down';
  const [loading] = Object.values(pools).flatMap((pool) => pool.loading);
  return loading === undefined ? undefined : `the model "${loading}" is being loaded`;
}

/** Refuses a handshake before it becomes a WebSocket. */
export function rejectUpgrade(socket: Duplex, status: number, reason: string): void {
  const body = `${JSON.stringify({ error: reason })}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.on('error', () => socket.destroy());
  // A client that keeps its side open would keep the socket.
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
