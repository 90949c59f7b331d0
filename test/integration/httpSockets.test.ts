import { createConnection, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Metrics } from '../../src/server/metrics/metrics.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { chat } from '../helpers/graphs.ts';
import { startTestServer, TestClient, type TestServerOptions } from '../helpers/server.ts';

const token = 'open sesame';
const maxConnections = 4;
/** As many sockets as the server accepts in all. */
const allSockets = 4 * maxConnections;

async function startSmall(options: TestServerOptions = {}): Promise<TurngraphServer> {
  const server = await startTestServer({ maxConnections, ...options });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

interface RawSocket {
  readonly socket: Socket;
  /** All that was received when the server has closed the socket. */
  readonly received: Promise<string>;
}

function open({ port }: TurngraphServer, text: string): RawSocket {
  const socket = createConnection({ port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (data) => (received += data.toString()));
  // A socket that is closed with unread data is reset.
  socket.on('error', () => undefined);
  socket.write(text);
  return { socket, received: new Promise((resolve) => socket.once('close', () => resolve(received))) };
}

const request = (start: string, ...headers: readonly string[]): string =>
  [`${start} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');

/** Opens hostile sockets until the server has seen them all. */
async function attack(server: TurngraphServer, text: string): Promise<readonly RawSocket[]> {
  const sockets = Array.from({ length: 2 * allSockets }, () => open(server, text));
  await Promise.all(
    sockets.map(
      ({ socket }) =>
        new Promise<void>((resolve) => {
          if (!socket.connecting) resolve();
          else socket.once('connect', () => resolve()).once('close', () => resolve());
        }),
    ),
  );
  return sockets;
}

const hostile: readonly (readonly [string, string])[] = [
  ['send nothing', ''],
  ['never end their headers', 'GET / HTTP/1.1\r\nHost: localhost\r\nX: '],
  ['send a body without an end', `${request('POST /health/live', 'Content-Length: 1000000000')}x`],
  ['send a chunked body without an end', `${request('GET /health/live', 'Transfer-Encoding: chunked')}1\r\nx\r\n`],
  ['wait for permission to send a body', request('POST /health/live', 'Content-Length: 9', 'Expect: 100-continue')],
  ['ask for health and stay', request('GET /health/live')],
  ['ask without the token and stay', request('GET /metrics')],
  [
    'begin a WebSocket without the token',
    request(
      'GET /',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ),
  ],
];

describe('a client with the token', () => {
  it.each(hostile)('connects while others %s', async (_, text) => {
    const server = await startSmall({ token });
    const sockets = await attack(server, text);
    await using client = await TestClient.connect(
      `${server.url}/?token=${encodeURIComponent(token)}`,
      'turngraph.v1.json',
    );
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({ status: 'SUCCESS' });
    const authorization = `Bearer ${token}`;
    expect((await fetch(`http://127.0.0.1:${server.port}/graphs`, { headers: { authorization } })).status).toBe(200);
    const isOpen = ({ socket }: RawSocket): boolean => !socket.destroyed;
    while (sockets.filter(isOpen).length > 2 * maxConnections) await new Promise(setImmediate);
  });
});

describe('a client of a server without a token', () => {
  it.each(hostile.slice(0, -1))('connects while others %s', async (_, text) => {
    const server = await startSmall();
    await attack(server, text);
    await using client = await TestClient.connect(server.url, 'turngraph.v1.json');
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({ status: 'SUCCESS' });
  });
});

describe('an HTTP connection', () => {
  it.each([
    ['with a body', {}, request('GET /health/live', 'Content-Length: 4') + 'body', 200],
    ['with an unfinished body', {}, request('POST /health/live', 'Content-Length: 1000000000'), 405],
    ['that announces a body', {}, request('POST /graphs', 'Content-Length: 4', 'Expect: 100-continue'), 405],
    ['with an unknown expectation', {}, request('POST /graphs', 'Content-Length: 4', 'Expect: nothing'), 405],
    ['without the token', { token }, request('GET /health/live'), 200],
    ['with a wrong token', { token }, request('GET /graphs', 'Authorization: Bearer barley'), 401],
    ['of another host', {}, request('GET /graphs').replace('localhost', 'evil.example'), 403],
  ] as const)('is closed after a request %s', async (_, options, text, status) => {
    const server = await startSmall(options);
    const received = await open(server, text).received;
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received.toLowerCase()).toContain('\r\nconnection: close\r\n');
  });

  it('stays open after a request with the token', async () => {
    const server = await startSmall({ token });
    const { socket } = open(server, request('GET /graphs', `Authorization: Bearer ${token}`));
    const [answer] = (await new Promise((resolve) => socket.once('data', (data) => resolve([data.toString()])))) as [
      string,
    ];
    expect(answer.toLowerCase()).toContain('\r\nconnection: keep-alive\r\n');
  });

  it('with pipelined requests gets all responses, which are made one after the other', async () => {
    const server = await startSmall();
    let [running, most] = [0, 0];
    const text = Metrics.prototype.text;
    const made = vi.spyOn(Metrics.prototype, 'text').mockImplementation(async function (this: Metrics) {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return text.call(this);
    });
    const received = await open(
      server,
      request('GET /metrics').repeat(20) + request('GET /graphs', 'Connection: close'),
    ).received;
    expect(received.split('HTTP/1.1 200 OK').length - 1).toBe(21);
    expect([made.mock.calls.length, most]).toEqual([20, 1]);
    vi.restoreAllMocks();
  });

  it('with pipelined requests of a client that does not read gets no further responses', async () => {
    const server = await startSmall();
    const made = vi.spyOn(Metrics.prototype, 'text').mockResolvedValue('x'.repeat(4_000_000));
    const client = open(server, request('GET /metrics').repeat(50) + request('GET /graphs', 'Connection: close'));
    client.socket.pause();
    // What is made fits into the buffers of the operating system, and one response waits.
    await wait(300);
    expect(made.mock.calls.length).toBeGreaterThan(0);
    expect(made.mock.calls.length).toBeLessThan(20);
    client.socket.resume();
    expect((await client.received).split('HTTP/1.1 200 OK').length - 1).toBe(51);
    vi.restoreAllMocks();
  });

  it('with more than 100 pipelined requests is closed', async () => {
    const server = await startSmall();
    const made = vi.spyOn(Metrics.prototype, 'text');
    await open(server, request('GET /metrics').repeat(300)).received;
    expect(made.mock.calls.length).toBeLessThanOrEqual(100);
    vi.restoreAllMocks();
  });
});
