import { get, type IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { chat } from '../helpers/graphs.ts';
import { useServer, TestClient, subprotocols } from '../helpers/server.ts';

const open = useServer();
const locked = useServer({
  token: 'open sesame',
  allowOrigin: ['tauri://localhost', 'null'],
  allowHost: ['game.local'],
});
const small = useServer({ maxConnections: 1 });

interface Attempt {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** What a handshake came to: the HTTP status, 101 when the socket opened. */
function attempt(url: string, { protocols = [], headers = {}, path = '/' }: Attempt = {}): Promise<number> {
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

/** All that a socket hears until it is closed, as JSON, and the close code. */
function heard(socket: WebSocket): Promise<{ readonly frames: readonly unknown[]; readonly code: number }> {
  const frames: unknown[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())));
  return new Promise((resolve) => socket.on('close', (code) => resolve({ frames, code })));
}

/** What plain HTTP answers, the path sent as it is written. */
const page = (
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

const status = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
  (await page(url, headers)).status;

describe('a connection', () => {
  it('is greeted before it has said anything', async () => {
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

  it('speaks JSON when it offers no subprotocol', async () => {
    const socket = new WebSocket(open().url);
    const all = heard(socket);
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

  it('that knows only other subprotocols hears which there are', async () => {
    const socket = new WebSocket(open().url, ['turngraph.v9.proto', 'soap']);
    const { frames, code } = await heard(socket);
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

  it('over a limit is told so before it is closed', async () => {
    await using client = await TestClient.connect(small().url, 'turngraph.v1.json');
    const { frames, code } = await heard(new WebSocket(small().url));
    expect(frames).toMatchObject([{ error: { code: 2005 } }]);
    expect(code).toBe(4429);
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
  });

  it('finds the server on both loopback addresses', async () => {
    expect(await attempt(`ws://127.0.0.1:${open().port}`)).toBe(101);
    expect(await attempt(`ws://[::1]:${open().port}`)).toBe(101);
    expect(await attempt(`ws://localhost:${open().port}`)).toBe(101);
  });

  it.each<[string, Attempt, number]>([
    ['a web page of another origin', { headers: { origin: 'https://evil.example' } }, 403],
    ['a rebound host name', { headers: { host: 'evil.example' } }, 403],
    ['a sandboxed page', { headers: { origin: 'null' } }, 403],
    ['another path', { path: '/elsewhere' }, 404],
    ['a path that is no URL', { path: '//' }, 404],
    ['a native client', {}, 101],
  ])('of %s gets its status', async (_, how, expected) => {
    expect(await attempt(open().url, how)).toBe(expected);
  });

  it('from the page that the server itself serves may connect', async () => {
    expect(await attempt(open().url, { headers: { origin: `http://127.0.0.1:${open().port}` } })).toBe(101);
  });

  it.each<[string, Attempt, number]>([
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
  ])('%s gets its status', async (_, how, expected) => {
    expect(await attempt(locked().url, how)).toBe(expected);
  });
});

describe('the plain HTTP side', () => {
  it('tells that the server lives, without a token', async () => {
    expect(await status(`http://127.0.0.1:${locked().port}/health/live`)).toBe(200);
    expect(await status(`http://127.0.0.1:${locked().port}/health/ready`)).toBe(200);
  });

  it('gives the graphs of its folder, the schema for editors and the proto', async () => {
    const base = `http://127.0.0.1:${open().port}`;
    expect(await page(`${base}/graphs`)).toMatchObject({
      status: 200,
      body: expect.stringContaining('"lamp-switch"') as unknown,
    });
    expect(JSON.parse((await page(`${base}/graphs/lamp-switch`)).body)).toMatchObject({ start_node: 'guard' });
    expect((await page(`${base}/proto/wire.proto`)).body).toContain('package turngraph.v1;');
    expect(JSON.parse((await page(`${base}/schema/graph.schema.json`)).body)).toMatchObject({
      title: 'turngraph graph',
    });
  });

  it.each(['/graphs/..%2fpackage', '/graphs/../package.json', '/graphs/%', '/graphs/nobody', '//', '/?', '/%00'])(
    'has nothing at %s',
    async (path) => {
      expect((await page(`http://127.0.0.1:${open().port}${path}`)).status).toBe(404);
    },
  );

  it('refuses everything else without one, and other origins with one', async () => {
    expect(await status(`http://127.0.0.1:${locked().port}/metrics`)).toBe(401);
    expect(await status(`http://127.0.0.1:${open().port}/nothing`)).toBe(404);
    expect(await status(`http://127.0.0.1:${open().port}/nothing`, { origin: 'https://evil.example' })).toBe(403);
  });
});

describe.each(subprotocols)('over %s', (subprotocol) => {
  it('a frame of more than 1 MiB is refused with its limit before the socket closes', async () => {
    await using client = await TestClient.connect(open().url, subprotocol);
    client.socket.send('x'.repeat(1024 * 1024 + 1));
    expect(await client.waitFor(({ body }) => body === 'error')).toMatchObject({
      requestId: 0,
      error: { code: 5003, name: 'FRAME_TOO_LARGE' },
    });
    expect((await client.closed).code).toBe(1009);
  });

  it('random bytes are answered with an error each, and the connection lives', async () => {
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
