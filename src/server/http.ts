import { STATUS_CODES, type IncomingMessage, type RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { splitTarget, type Refusal } from './gate.ts';

/** The plain HTTP side of the port. */
export function answerHttp(refusalOf: (request: IncomingMessage) => Refusal | undefined): RequestListener {
  return (request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    };
    const [pathname] = splitTarget(request);
    if (pathname === '/health/live' || pathname === '/health/ready') return answer(200, { status: 'ok' });
    const refusal = refusalOf(request);
    if (refusal) return answer(refusal.status, { error: refusal.reason });
    return answer(404, { error: `nothing is at ${pathname}; clients connect over WebSocket at /` });
  };
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
