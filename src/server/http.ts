import { STATUS_CODES, type IncomingMessage, type RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { editorSchema } from '../graph/editorSchema.ts';
import type { House } from '../session/session.ts';
import { splitTarget, type Refusal } from './gate.ts';

/** The plain HTTP side of the port. */
export function answerHttp(
  refusalOf: (request: IncomingMessage) => Refusal | undefined,
  house: House,
): RequestListener {
  return (request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    };
    const [pathname] = splitTarget(request);
    if (pathname === '/health/live') return answer(200, { status: 'live' });
    if (pathname === '/health/ready') {
      const reason = busyWith(house);
      return reason === undefined ? answer(200, { status: 'ready' }) : answer(503, { status: 'not ready', reason });
    }
    const refusal = refusalOf(request);
    if (refusal) return answer(refusal.status, { error: refusal.reason });
    if (pathname === '/schema/graph.schema.json') return answer(200, editorSchema(house.registry));
    return answer(404, { error: `nothing is at ${pathname}; clients connect over WebSocket at /` });
  };
}

function busyWith({ closing, pools }: House): string | undefined {
  if (closing.aborted) return 'the server is shutting down';
  const [loading] = Object.values(pools).flatMap((pool) => pool.loading);
  return loading === undefined ? undefined : `the model "${loading}" is being loaded`;
}

/** Refuses a handshake before it becomes a WebSocket. */
export function turnAway(socket: Duplex, status: number, reason: string): void {
  const body = `${JSON.stringify({ error: reason })}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.on('error', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
