import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { checkServer, type ServerCheckOptions } from '../../../conformance/server/checkServer.ts';

const ready = JSON.stringify({
  requestId: 0,
  seq: 0,
  sessionReady: { protocolVersion: 1, sessionId: 's', resumeToken: 't', serverVersion: '1' },
});

let stop = (): void => {};
afterEach(() => stop());

/** Starts a server that does with a handshake what it wants. */
async function startServer(upgrade: (request: IncomingMessage, socket: Socket) => void) {
  const http = createServer((_, response) => response.end('x'.repeat(5_000_000)));
  const sockets = new Set<Socket>();
  http.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  http.on('upgrade', upgrade);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  stop = () => {
    for (const socket of sockets) socket.destroy();
    http.close();
  };
  return { url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`, sockets };
}

const accepting = (use: (socket: WebSocket) => void) => (request: IncomingMessage, tcp: Socket) => {
  const server = new WebSocketServer({ noServer: true });
  server.handleUpgrade(request, tcp, Buffer.alloc(0), (socket) => use(socket.on('error', () => {})));
};

/** Sends on and on. */
function flood(socket: Socket, text: string): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on('drain', write);
  write();
}

/** Sends on and on, one piece after the other. */
function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}

async function resultsOf(options: ServerCheckOptions): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { name, outcome, reason } of checkServer({ codecs: ['json'], timeoutMs: 300, ...options }))
    lines.push(`${outcome} ${name}: ${reason}`);
  return lines;
}

const frame = JSON.stringify({
  requestId: 1,
  seq: 1,
  answerText: { agentId: 1, turnId: 1, text: 'x'.repeat(60_000), isFinal: false },
});

describe('the check of a server ends, and leaves no socket open, for a server that', () => {
  it.each<[string, (request: IncomingMessage, socket: Socket) => void, string]>([
    [
      'answers a handshake with one header after the other',
      (_, socket) => drip(socket, 'HTTP/1.1 500 No\r\nx: y\r\n'),
      '',
    ],
    [
      'refuses a handshake with a body without end',
      (_, socket) =>
        flood(
          socket.on('data', () => {}),
          'HTTP/1.1 500 No\r\n\r\n'.padEnd(60_000, 'x'),
        ),
      'a body of more than 4194304 bytes',
    ],
    [
      'refuses a handshake with a body that comes slowly',
      (_, socket) => {
        socket.write('HTTP/1.1 500 No\r\n\r\n');
        drip(socket, 'x');
      },
      'none within 0.3 s',
    ],
    [
      'refuses a handshake with a long page',
      (_, socket) => socket.end(`HTTP/1.1 500 No\r\nConnection: close\r\n\r\n${'<html>\u001b[2J\n'.repeat(1000)}`),
      '<html>\\u001b[2J\\n<html>',
    ],
    ['sends nothing', accepting(() => {}), 'expected a first frame, came nothing within 0.3 s'],
    ['sends what is no frame', accepting((socket) => socket.send('{}')), 'expected a first frame, came nothing'],
  ])('%s', async (_, upgrade, reason) => {
    const { url, sockets } = await startServer(upgrade);
    const [only = '', ...others] = await resultsOf({ url, ...(reason.includes('body') && { timeoutMs: 3000 }) });
    expect(only).toContain('failed The server can be reached, and accepts a WebSocket');
    expect(only).toContain(reason);
    expect(only.length).toBeLessThan(600);
    expect(others).toEqual([]);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it.each<[string, (socket: WebSocket) => void, string]>([
    [
      'sends frames without end',
      (socket) => {
        const send = (): void => {
          if (socket.readyState === socket.OPEN) socket.send(frame.padEnd(2_000_000), () => setImmediate(send));
        };
        send();
      },
      'came close 1006 by the kit, after ',
    ],
    [
      'sends one frame after the other',
      (socket) => {
        const timer = setInterval(() => socket.send(frame), 20);
        socket.on('close', () => clearInterval(timer));
      },
      'came close 1006; the last frame was',
    ],
    ['sends a frame of 20 MB', (socket) => socket.send(frame.padEnd(20_000_000)), 'Max payload size exceeded'],
    ['floods the client with pings', (socket) => socket.ping(), 'came nothing within 0.3 s'],
  ])('%s', async (_, use, reason) => {
    const { url, sockets } = await startServer(
      accepting((socket) => {
        socket.send(ready);
        use(socket);
      }),
    );
    const results = await resultsOf({
      url,
      ...(reason.includes('within') || reason.includes('last frame')
        ? { checkTimeoutMs: 1000 }
        : { checkTimeoutMs: 60_000, timeoutMs: 3000 }),
      only: ['An agent in a turn refuses', 'A ping is'],
    });
    expect(results.join('\n')).toContain(reason);
    expect(results.some((line) => line.startsWith('failed'))).toBe(true);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it('answers pages without end', async () => {
    const { url } = await startServer(accepting((socket) => socket.send(ready)));
    const results = await resultsOf({ url, only: ['GET /graphs answers'], timeoutMs: 3000 });
    expect(results.at(-1)).toContain('a body of more than 4194304 bytes');
  });
});
