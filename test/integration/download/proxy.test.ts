import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Agent as HttpsAgent, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { seededBytes } from '../../helpers/fakeHub.ts';
import { FakeProxy } from '../../helpers/proxy.ts';
import { HttpConnection, defaultTimeouts } from '../../../src/inference/remote/connection/httpConnection.ts';
import { catchFault, tinyModel, useDownloadFixture } from './downloadFixture.ts';

const fixture = useDownloadFixture();
const content = seededBytes(300_000);
const tls = {
  key: await readFile('test/fixtures/tls/key.pem'),
  cert: await readFile('test/fixtures/tls/cert.pem'),
};

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

async function openProxy(port: () => number): Promise<FakeProxy> {
  const proxy = await FakeProxy.open(port);
  opened.push(proxy);
  return proxy;
}

/** A server with TLS, whose certificate no authority has signed. */
async function openTls(answer = '{"ok":true}'): Promise<{ readonly port: number; readonly requests: string[] }> {
  const requests: string[] = [];
  const server = createServer(tls, (request, response) => {
    requests.push(`${request.method} ${request.headers.host}${request.url}`);
    response.end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

describe('a download through a proxy', () => {
  const portOfHub = (): number => Number(new URL(fixture().hub.url).port);

  it.each([['HTTP_PROXY'], ['http_proxy']])(
    'asks the one that %s names, for a hub that only it can reach',
    async (name) => {
      fixture().hub.files.set('ann/tiny/model.gguf', { content, direct: true });
      const proxy = await openProxy(portOfHub);
      const { env } = fixture();
      Object.assign(env, { HF_ENDPOINT: 'http://hub.test', [name]: proxy.url.replace('//', '//ann:pa%20ss@') });
      await fixture().createDownloads().start(tinyModel(), {});
      expect(proxy.requests).toEqual(
        ['HEAD', 'GET'].map((method) => `${method} http://hub.test/ann/tiny/resolve/main/model.gguf`),
      );
      expect(new Set(proxy.authorizations)).toEqual(new Set([`Basic ${Buffer.from('ann:pa ss').toString('base64')}`]));
      expect(content.equals(await readFile(join(fixture().folder, 'ann/tiny/model.gguf')))).toBe(true);
    },
  );

  it.each(['*', 'localhost', '.localhost,example.org', 'example.org localhost:PORT'])(
    'asks the hub itself where NO_PROXY is %s',
    async (excluded) => {
      fixture().hub.files.set('ann/tiny/model.gguf', { content, direct: true });
      const proxy = await openProxy(portOfHub);
      const NO_PROXY = excluded.replace('PORT', String(portOfHub()));
      Object.assign(fixture().env, { HTTP_PROXY: proxy.url, NO_PROXY });
      await fixture().createDownloads().start(tinyModel(), {});
      expect(proxy.requests).toEqual([]);
    },
  );

  it.each(['host', 'ocalhost', 'localhost:1', 'example.org'])(
    'asks the proxy where NO_PROXY is %s',
    async (NO_PROXY) => {
      fixture().hub.files.set('ann/tiny/model.gguf', { content, direct: true });
      const proxy = await openProxy(portOfHub);
      Object.assign(fixture().env, { HTTP_PROXY: proxy.url, NO_PROXY });
      await fixture().createDownloads().start(tinyModel(), {});
      expect(proxy.requests).toHaveLength(2);
    },
  );

  it('tells at once that the proxy wants a password, or is none', async () => {
    const proxy = await openProxy(portOfHub);
    proxy.refusals.push(407);
    Object.assign(fixture().env, { HF_ENDPOINT: 'https://hub.test', HTTPS_PROXY: proxy.url });
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), {}));
    expect([code, message]).toEqual([
      6001,
      expect.stringMatching(/hub\.test cannot be reached: the proxy 127\.0\.0\.1:\d+ answers 407$/),
    ]);
    Object.assign(fixture().env, { HTTPS_PROXY: 'socks5://secret@127.0.0.1:1' });
    expect(await catchFault(fixture().createDownloads().start(tinyModel(), {}))).toEqual([
      6001,
      'hub.test cannot be reached: HTTPS_PROXY must be an address like http://host:port',
    ]);
    expect(fixture().waits).toEqual([]);
  });

  it.each(['http', 'https'])('is named if it cannot be reached, for a hub with %s', async (protocol) => {
    const proxy = { HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1' };
    Object.assign(fixture().env, { HF_ENDPOINT: `${protocol}://hub.test`, ...proxy });
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), {}));
    expect([code, message]).toEqual([
      6001,
      expect.stringContaining('hub.test cannot be reached (the proxy 127.0.0.1:1: ECONNREFUSED); 6 tries'),
    ]);
  });

  it('tries again while the proxy itself has no connection', async () => {
    const proxy = await openProxy(portOfHub);
    proxy.refusals.push(...Array<number>(6).fill(502));
    Object.assign(fixture().env, { HF_ENDPOINT: 'https://hub.test', HTTPS_PROXY: proxy.url });
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), {}));
    expect([code, message]).toEqual([
      6001,
      expect.stringMatching(/the proxy \S+ answers 502\); 6 tries in a row brought nothing/),
    ]);
  });
});

describe('a certificate that no known authority has signed', () => {
  it.each([false, true])(
    'fails a download at once, and NODE_EXTRA_CA_CERTS is named; through a proxy: %s',
    async (isProxied) => {
      const { port } = await openTls();
      const proxy = await openProxy(() => port);
      const HF_ENDPOINT = isProxied ? 'https://hub.test' : `https://localhost:${port}`;
      Object.assign(fixture().env, { HF_ENDPOINT, ...(isProxied && { HTTPS_PROXY: proxy.url }) });
      const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), {}));
      expect(code).toBe(6001);
      expect(message).toMatch(
        /cannot be reached: its certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\).*NODE_EXTRA_CA_CERTS$/,
      );
      expect(fixture().waits).toEqual([]);
      expect(proxy.requests).toEqual(isProxied ? ['CONNECT hub.test:443'] : []);
    },
  );

  it('fails a request to an inference server, without a second try', async () => {
    const { port } = await openTls();
    using connection = new HttpConnection(`https://localhost:${port}`, undefined, defaultTimeouts, {});
    const { signal } = new AbortController();
    await expect(connection.json({ path: '/props', signal })).rejects.toMatchObject({
      retryable: false,
      message: expect.stringContaining('NODE_EXTRA_CA_CERTS') as unknown,
    });
  });
});

describe('an inference server behind a proxy', () => {
  const { signal } = new AbortController();

  it('is asked through a tunnel with TLS', async () => {
    const { port, requests } = await openTls();
    const proxy = await openProxy(() => port);
    const authority = HttpsAgent.prototype.createConnection;
    using connection = new HttpConnection('https://hub.test/v1', undefined, defaultTimeouts, {
      HTTPS_PROXY: proxy.url,
    });
    // What NODE_EXTRA_CA_CERTS does when the process starts.
    HttpsAgent.prototype.createConnection = function (options, callback) {
      return authority.call(this, { ...options, ca: tls.cert } as typeof options, callback);
    };
    try {
      expect(await connection.json({ path: '/props', signal })).toEqual({ ok: true });
      expect(await connection.json({ path: '/props', signal })).toEqual({ ok: true });
    } finally {
      HttpsAgent.prototype.createConnection = authority;
    }
    expect(requests).toEqual(['GET hub.test/v1/props', 'GET hub.test/v1/props']);
    expect(proxy.requests).toEqual(['CONNECT hub.test:443']);
  });

  it('is asked by HTTP_PROXY without TLS, and directly where NO_PROXY names it', async () => {
    const proxy = await openProxy(() => Number(new URL(fixture().hub.url).port));
    fixture().hub.files.set('ann/tiny/model.gguf', { content: Buffer.from('{"a":1}'), direct: true });
    const env = { HTTP_PROXY: proxy.url, NO_PROXY: 'localhost' };
    for (const url of ['http://hub.test', fixture().hub.url]) {
      using connection = new HttpConnection(url, undefined, defaultTimeouts, env);
      expect(await connection.json({ path: '/ann/tiny/resolve/main/model.gguf', signal })).toEqual({ a: 1 });
    }
    expect(proxy.requests).toEqual(['GET http://hub.test/ann/tiny/resolve/main/model.gguf']);
  });
});

describe('the token of "hf auth login"', () => {
  const tokenOf = () => fixture().hub.requests.map(({ headers }) => headers.authorization);

  it.each([
    ['in the cache of the home folder', (home: string) => [join(home, '.cache/huggingface/token'), {}] as const],
    ['in HF_HOME', (home: string) => [join(home, 'hf/token'), { HF_HOME: join(home, 'hf') }] as const],
    ['at HF_TOKEN_PATH', (home: string) => [join(home, 'mine'), { HF_TOKEN_PATH: join(home, 'mine') }] as const],
    [
      'in XDG_CACHE_HOME',
      (home: string) => [join(home, 'x/huggingface/token'), { XDG_CACHE_HOME: join(home, 'x') }] as const,
    ],
  ])('is found %s, and HF_TOKEN is used before it', async (_, place) => {
    fixture().hub.files.set('ann/tiny/model.gguf', { content, direct: true });
    const [file, env] = place(fixture().home);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, 'hf_saved\n');
    Object.assign(fixture().env, env);
    await fixture().createDownloads().start(tinyModel(), {});
    expect(new Set(tokenOf())).toEqual(new Set(['Bearer hf_saved']));
    fixture().hub.requests.length = 0;
    fixture().hub.files.set('ann/tiny/other.gguf', { content, direct: true });
    Object.assign(fixture().env, { HF_TOKEN: 'hf_given' });
    await fixture()
      .createDownloads()
      .start(tinyModel({ files: ['other.gguf'] }), {});
    expect(new Set(tokenOf())).toEqual(new Set(['Bearer hf_given']));
  });
});
