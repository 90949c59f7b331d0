import { get, type IncomingMessage } from 'node:http';
import { createConnection } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { readServerOptions } from '../../src/server/config.ts';
import { chat } from '../helpers/graphs.ts';
import { startTestServer, useServer, TestClient, subprotocols } from '../helpers/server.ts';
import { failFiles } from '../helpers/failingFiles.ts';

const open = useServer();
const locked = useServer({
  token: 'open sesame',
  allowOrigin: ['tauri://localhost', 'null'],
  allowHost: ['game.local'],
});
const small = useServer({ maxConnections: 1 });
const balanced = useServer({ maxConnections: 1, behindBalancer: true, serverName: 'a' });

interface Handshake {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** Tries a handshake. Returns the HTTP status, 101 when the socket opened. */
function tryHandshake(url: string, { protocols = [], headers = {}, path = '/' }: Handshake = {}): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url + path, [...protocols], { headers });
    socket.on('error', () => undefined);
    socket.on('unexpected-response', (_, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.on('open', () => {
      resolve(101);
      socket.close();
    });
  });
}

/** All frames that a socket receives until it is closed, as JSON, and the close code. */
function receiveAll(socket: WebSocket): Promise<{ readonly frames: readonly unknown[]; readonly code: number }> {
  const frames: unknown[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())));
  return new Promise((resolve) => socket.on('close', (code) => resolve({ frames, code })));
}

/** The answer to an HTTP GET; the path is sent without normalization. */
const fetchPage = (
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const path = url.slice(url.indexOf(port) + port.length);
    get({ hostname, port, path, headers }, async (response: IncomingMessage) => {
      let body = '';
      for await (const part of response) body += String(part);
      resolve({ status: response.statusCode ?? 0, body });
    }).on('error', reject);
  });

const fetchStatus = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
  (await fetchPage(url, headers)).status;

describe('a connection', () => {
  it('receives sessionReady before it has sent anything', async () => {
    const socket = new WebSocket(open().url);
    const first = await new Promise<string>((resolve) =>
      socket.on('message', (data: Buffer) => resolve(data.toString())),
    );
    socket.close();
    expect(JSON.parse(first)).toMatchObject({
      requestId: 0,
      seq: 0,
      sessionReady: { protocolVersion: 1, sessionId: expect.any(String) as unknown },
    });
  });

  it.each([
    ['the name of the server', { serverName: 'Tavern-2_b' }, /^Tavern-2_b\.[\da-f-]{36}$/],
    ['a random name where the server has none', {}, /^[\da-f]{8}\.[\da-f-]{36}$/],
  ])('has a session id that begins with %s, whatever session its address names', async (_, options, expected) => {
    await using server = await startTestServer(options);
    const ids: string[] = [];
    for (const query of ['', '/?session=x', '/?session=']) {
      await using client = await TestClient.connect(server.url + query, 'turngraph.v1.json');
      ids.push((await client.receive('sessionReady')).sessionId);
    }
    expect(ids).toEqual(Array(3).fill(expect.stringMatching(expected)));
    expect([new Set(ids).size, new Set(ids.map((id) => id.split('.')[0])).size]).toEqual([3, 1]);
  });

  it.each(['a.b', 'a b', 'ä', 'a/b', 'x'.repeat(33)])('cannot be made to a server named %j', (serverName) => {
    const { errors } = readServerOptions({ serverName }) as { readonly errors?: readonly object[] };
    expect(errors).toMatchObject([
      { pointer: '/serverName', message: expect.stringContaining('up to 32 letters, digits, _ or -') as string },
    ]);
  });

  it.each([
    'null',
    'file://',
    'tauri://localhost',
    'app://.',
    'http://[::1]:3000',
    'https://a:80',
    'chrome-extension://ab',
  ])('can be made by pages of %s', (origin) => {
    expect(readServerOptions({ allowOrigin: [origin] })).toMatchObject({ ok: true });
  });

  // Browsers never send these, so every page would be refused.
  it.each([
    'localhost:8000',
    'http://a/',
    'http://a/b',
    '*',
    'http://*.a',
    'a,b',
    'http://a,http://b',
    'http://a:80',
    '',
    'https://a:443',
    'https://Game.example',
    'HTTP://a',
    'https://ä.example',
    'https://user@a',
    'http://a:',
  ])('cannot be allowed for the origin %j', (origin) => {
    const { errors } = readServerOptions({ allowOrigin: ['null', origin] }) as { readonly errors?: readonly object[] };
    expect(errors).toMatchObject([
      { pointer: '/allowOrigin/1', message: expect.stringContaining('scheme://host[:port]') as string },
    ]);
  });

  it.each(['game.local:9100', '*', 'http://game.local', 'a,b', ''])('cannot be allowed for the host %j', (host) => {
    expect(readServerOptions({ allowHost: [host] })).toMatchObject({ ok: false });
  });

  it('uses JSON when it offers no subprotocol', async () => {
    const socket = new WebSocket(open().url);
    const all = receiveAll(socket);
    await new Promise((resolve) => socket.on('open', resolve));
    expect(socket.protocol).toBe('');
    socket.send('{"requestId": 1, "listModels": {}}');
    await new Promise<void>((resolve) =>
      socket.on('message', (data: Buffer) => data.toString().includes('listModels') && resolve()),
    );
    socket.close();
    expect((await all).frames[1]).toMatchObject({
      requestId: 1,
      seq: 1,
      listModels: {
        models: expect.arrayContaining([expect.objectContaining({ name: 'turngraph-demo', status: 'LOCAL' })]),
      },
    });
  });

  it('that offers only unknown subprotocols receives an error that lists the known ones', async () => {
    const socket = new WebSocket(open().url, ['turngraph.v9.proto', 'soap']);
    const { frames, code } = await receiveAll(socket);
    expect(socket.protocol).toBe('turngraph.v9.proto');
    expect(frames).toMatchObject([
      { error: { code: 5004, message: expect.stringContaining('turngraph.v1.proto') as unknown } },
    ]);
    expect(code).toBe(4406);
  });

  it('gets the subprotocol that is known among several', async () => {
    const socket = new WebSocket(open().url, ['soap', 'turngraph.v1.json']);
    await new Promise((resolve) => socket.on('open', resolve));
    expect(socket.protocol).toBe('turngraph.v1.json');
    socket.close();
  });

  it('above the limit receives an error before it is closed', async () => {
    await using client = await TestClient.connect(small().url, 'turngraph.v1.json');
    const { frames, code } = await receiveAll(new WebSocket(small().url));
    expect(frames).toMatchObject([{ error: { code: 2005 } }]);
    expect(code).toBe(4429);
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
  });

  it('above the limit is refused with 503 behind a load balancer, unless its session is on this server', async () => {
    const { url, port } = balanced();
    const ready = `http://127.0.0.1:${port}/health/ready`;
    expect(await fetchStatus(ready)).toBe(200);
    await using client = await TestClient.connect(url, 'turngraph.v1.json');
    expect(await fetchStatus(ready)).toBe(503);
    expect(await (await fetch(ready)).json()).toEqual({
      status: 'not ready',
      reason: '1 connections are open, and more are not allowed',
    });
    expect(await tryHandshake(url)).toBe(503);
    expect(await tryHandshake(url, { path: '/?session=b.77531b99' })).toBe(503);
    expect((await receiveAll(new WebSocket(`${url}/?session=a.77531b99`))).code).toBe(4429);
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
    await client[Symbol.asyncDispose]();
    await expect.poll(() => fetchStatus(ready)).toBe(200);
    expect(await tryHandshake(url)).toBe(101);
  });

  it('finds the server on both loopback addresses', async () => {
    expect(await tryHandshake(`ws://127.0.0.1:${open().port}`)).toBe(101);
    expect(await tryHandshake(`ws://[::1]:${open().port}`)).toBe(101);
    expect(await tryHandshake(`ws://localhost:${open().port}`)).toBe(101);
  });

  it.each<[string, Handshake, number]>([
    ['a web page of another origin', { headers: { origin: 'https://evil.example' } }, 403],
    ['a rebound host name', { headers: { host: 'evil.example' } }, 403],
    ['a sandboxed page', { headers: { origin: 'null' } }, 403],
    ['another path', { path: '/elsewhere' }, 404],
    ['a path that is no URL', { path: '//' }, 404],
    ['a native client', {}, 101],
  ])('of %s is answered with the right status', async (_, how, expected) => {
    expect(await tryHandshake(open().url, how)).toBe(expected);
  });

  it('from a page that the server itself serves is accepted', async () => {
    expect(await tryHandshake(open().url, { headers: { origin: `http://127.0.0.1:${open().port}` } })).toBe(101);
  });

  it.each<[string, Handshake, number]>([
    ['without a token', {}, 401],
    ['with a wrong token', { headers: { authorization: 'Bearer open barley' } }, 401],
    ['with the token in a header', { headers: { authorization: 'Bearer open sesame' } }, 101],
    ['with the token in the address', { path: '/?token=open%20sesame' }, 101],
    [
      'with the token from an origin that is allowed',
      { path: '/?token=open%20sesame', headers: { origin: 'tauri://localhost' } },
      101,
    ],
    [
      'with the token from one that is not',
      { path: '/?token=open%20sesame', headers: { origin: 'https://evil.example' } },
      403,
    ],
    [
      'with the token by a host name that is allowed',
      { path: '/?token=open%20sesame', headers: { host: 'game.local' } },
      101,
    ],
  ])('%s is answered with the right status', async (_, how, expected) => {
    expect(await tryHandshake(locked().url, how)).toBe(expected);
  });
});

describe('plain HTTP', () => {
  it('answers health checks without a token', async () => {
    expect(await fetchStatus(`http://127.0.0.1:${locked().port}/health/live`)).toBe(200);
    expect(await fetchStatus(`http://127.0.0.1:${locked().port}/health/ready`)).toBe(200);
  });

  it('serves the graphs of the folder, the JSON Schema for editors and the proto file', async () => {
    const base = `http://127.0.0.1:${open().port}`;
    expect(await fetchPage(`${base}/graphs`)).toMatchObject({
      status: 200,
      body: expect.stringContaining('"lamp-switch"') as unknown,
    });
    expect(JSON.parse((await fetchPage(`${base}/graphs/lamp-switch`)).body)).toMatchObject({ start_node: 'guard' });
    expect((await fetchPage(`${base}/proto/wire.proto`)).body).toContain('package turngraph.v1;');
    expect(JSON.parse((await fetchPage(`${base}/schema/graph.schema.json`)).body)).toMatchObject({
      title: 'turngraph graph',
    });
  });

  it('answers 503 for a graph that cannot be read for want of file handles, and finds it later', async () => {
    const graph = `http://127.0.0.1:${open().port}/graphs/lamp-switch`;
    {
      using _ = failFiles('EMFILE', (path) => path.endsWith('lamp-switch.json'));
      const { status, body } = await fetchPage(graph);
      expect(status).toBe(503);
      expect(body).toContain('too many files are open (EMFILE)');
    }
    expect((await fetchPage(graph)).status).toBe(200);
  });

  it.each([
    '/graphs/..%2fpackage',
    '/graphs/../package.json',
    '/graphs/%',
    '/graphs/unknown',
    '//',
    '/playground/',
    '/playground/..%2findex.html',
    '/%00',
  ])('answers 404 at %s', async (path) => {
    expect((await fetchPage(`http://127.0.0.1:${open().port}${path}`)).status).toBe(404);
  });

  it('says how to write a % in the name of a graph', async () => {
    const { body } = await fetchPage(`http://127.0.0.1:${open().port}/graphs/50%`);
    expect(JSON.parse(body)).toEqual({ error: 'the address /graphs/50% has a % that encodes nothing; write %25' });
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('answers 405 to %s', async (method) => {
    for (const path of ['/graphs', '/metrics', '/health/live', '/nothing']) {
      const response = await fetch(`http://127.0.0.1:${open().port}${path}`, { method });
      expect([path, response.status, response.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
    }
  });

  it('answers a request that offers another protocol than WebSocket as plain HTTP', async () => {
    const socket = createConnection({ port: open().port, host: '127.0.0.1' });
    const head = ['GET /health/live HTTP/1.1', 'Host: localhost', 'Connection: Upgrade, HTTP2-Settings'];
    socket.write([...head, 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__', '', ''].join('\r\n'));
    const text = Buffer.concat(await socket.toArray()).toString();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toContain('{"status":"live"}');
  });

  it('survives such a request in a pipeline, and a client that keeps its side open', async () => {
    const own = await startTestServer({});
    const socket = createConnection({ port: own.port, host: '127.0.0.1', allowHalfOpen: true });
    const request = (...lines: readonly string[]): string =>
      ['GET /health/live HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n');
    socket.write(request() + request('Connection: Upgrade', 'Upgrade: h2c'));
    const text = Buffer.concat(await socket.toArray()).toString();
    expect(text).toContain('HTTP/1.1 200 OK');
    expect(await fetchStatus(`http://127.0.0.1:${own.port}/health/live`)).toBe(200);
    await own[Symbol.asyncDispose]();
    socket.destroy();
  });

  it('takes a token with any letters, in the address and in a header of UTF-8 or Latin-1', async () => {
    const token = 'Schlüssel Ã¼';
    await using own = await startTestServer({ token });
    const url = `http://127.0.0.1:${own.port}/graphs`;
    const utf8 = Buffer.from(token).toString('latin1');
    for (const authorization of [utf8, token]) {
      expect(await fetchStatus(url, { authorization: `Bearer ${authorization}` })).toBe(200);
      expect(await fetchStatus(url, { authorization: `Bearer ${authorization}x` })).toBe(401);
    }
    expect(await fetchStatus(`${url}?token=${encodeURIComponent(token)}`)).toBe(200);
  });

  it('requires the token for everything else, and rejects other origins', async () => {
    expect(await fetchStatus(`http://127.0.0.1:${locked().port}/metrics`)).toBe(401);
    expect(await fetchStatus(`http://127.0.0.1:${open().port}/nothing`)).toBe(404);
    expect(await fetchStatus(`http://127.0.0.1:${open().port}/nothing`, { origin: 'https://evil.example' })).toBe(403);
  });
});

describe.each(subprotocols)('over %s', (subprotocol) => {
  it('a frame above 1 MiB is answered with FRAME_TOO_LARGE before the socket closes', async () => {
    await using client = await TestClient.connect(open().url, subprotocol);
    client.socket.send('x'.repeat(1024 * 1024 + 1));
    expect(await client.waitFor(({ body }) => body === 'error')).toMatchObject({
      requestId: 0,
      error: { code: 5003, name: 'FRAME_TOO_LARGE' },
    });
    expect((await client.closed).code).toBe(1009);
  });

  it.each(['', 'larger than 64 KiB'])(
    'a client that closes with 1009 itself (%j) is not told that its frame was too large',
    async (reason) => {
      await using client = await TestClient.connect(open().url, subprotocol);
      client.socket.close(1009, reason);
      expect(await client.closed).toEqual({ code: 1009, reason });
      expect(client.received.filter(({ body }) => body === 'error')).toEqual([]);
    },
  );

  it('random bytes are answered with an error each, and the connection stays open', async () => {
    await using client = await TestClient.connect(open().url, subprotocol);
    for (let index = 0; index < 100; index++) {
      const bytes = Buffer.from(
        Array.from({ length: 1 + ((index * 7) % 60) }, (_, at) => (index * 31 + at * 97 + ((at * at) % 11)) % 256),
      );
      client.socket.send(bytes, { binary: subprotocol === 'turngraph.v1.proto' || index % 2 === 0 });
    }
    const agentId = await client.createAgent(chat());
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'You said: hello' });
    const errors = client.received.flatMap((frame) => (frame.body === 'error' ? [frame.error.code] : []));
    expect(errors.length).toBeGreaterThan(90);
    expect([...new Set(errors)].filter((code) => code !== 5001 && code !== 5002)).toEqual([]);
  });
});
