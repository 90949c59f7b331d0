import { once } from 'node:events';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { useServer } from '../helpers/server.ts';

const open = useServer();
const locked = useServer({ token: 'open sesame' });

const fetchFrom = ({ port }: TurngraphServer, path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`);

/** Requests a path with headers that fetch does not let a program set, and without undoing a compression. */
async function requestFrom({ port }: TurngraphServer, path: string, headers: OutgoingHttpHeaders) {
  const [response] = (await once(request({ port, host: '127.0.0.1', path, headers }).end(), 'response')) as [
    IncomingMessage,
  ];
  const body = Buffer.concat(await response.toArray());
  return { status: response.statusCode, headers: response.headers, body };
}

/** The paths of the script and the styles in the page. */
const assetsOf = (html: string): readonly string[] =>
  [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);

describe('the playground page', () => {
  it('comes with its files, and may load nothing else', async () => {
    const page = await fetchFrom(open(), '/');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; ");
    expect(policy).not.toContain('unsafe-eval');
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/);
    const assets = assetsOf(html);
    expect(assets.some((path) => path.endsWith('.js'))).toBe(true);
    for (const path of assets) {
      expect(path).toMatch(/^\/playground\//);
      const file = await fetchFrom(open(), path);
      expect(file.status).toBe(200);
      expect(file.headers.get('content-type')).toMatch(/^(?:text\/(?:javascript|css); charset=utf-8|image\/svg\+xml)$/);
      expect(file.headers.get('cache-control')).toContain('immutable');
      expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  });

  it('is compressed for those who accept gzip', async () => {
    const script = assetsOf(await (await fetchFrom(open(), '/')).text()).find((path) => path.endsWith('.js')) ?? '';
    const sizes = new Map<string, number>();
    for (const [accepted, expected] of [
      ['identity', undefined],
      ['gzip', 'gzip'],
      ['br, gzip;q=0.5', 'gzip'],
      ['br, gzip;q=0', undefined],
    ] as const) {
      const { headers, body } = await requestFrom(open(), script, { 'accept-encoding': accepted });
      expect(headers['content-encoding'], accepted).toBe(expected);
      expect(headers.vary).toBe('accept-encoding');
      expect(body.byteLength).toBe(Number(headers['content-length'] ?? body.byteLength));
      sizes.set(expected ?? 'identity', body.byteLength);
      expect((expected ? gunzipSync(body) : body).byteLength).toBeGreaterThan(100_000);
    }
    expect(sizes.get('gzip')).toBeLessThan((sizes.get('identity') ?? 0) / 2);
  });

  it('comes with the licences of all packages that are in its script', async () => {
    const file = await fetchFrom(open(), '/playground/licenses.txt');
    expect(file.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(file.headers.get('cache-control')).toBe('no-cache');
    const text = await file.text();
    const named = [...text.matchAll(/^## (\S+) - \S+ \((?:MIT|ISC|BSD-3-Clause|Apache-2\.0)\)$/gm)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(expect.arrayContaining(['react', 'react-dom', '@xyflow/react', '@dagrejs/dagre', 'zustand']));
    expect(text.match(/^## /gm)).toHaveLength(named.length);
  });

  it('needs no token, since it asks for it', async () => {
    const page = await fetchFrom(locked(), '/');
    expect(page.status).toBe(200);
    for (const path of assetsOf(await page.text())) expect((await fetchFrom(locked(), path)).status).toBe(200);
    expect((await fetchFrom(locked(), '/graphs')).status).toBe(401);
  });

  it.each([
    ['/', {}],
    ['/graphs', {}],
    ['/graphs/nobody', {}],
    ['/metrics', {}],
    ['/', { connection: 'upgrade', upgrade: 'h2c' }],
    ['/graphs', { host: 'evil.example' }],
  ])('is like all of the server taken for no other type than its own: %s %j', async (path, headers) => {
    const response = await requestFrom(open(), path, headers);
    expect(response.headers['x-content-type-options']).toBe('nosniff');
  });

  it('is refused to a web page that has a name of its own for this machine', async () => {
    expect((await requestFrom(open(), '/', { host: 'evil.example' })).status).toBe(403);
  });
});
