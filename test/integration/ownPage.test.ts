import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer } from '../helpers/server.ts';

let folder: string;
beforeAll(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'turngraph-page-'));
  folder = join(parent, 'page');
  await mkdir(join(folder, 'levels'), { recursive: true });
  const files = {
    'page/index.html': '<h1>My game</h1>',
    'page/levels/index.html': '<h1>Levels</h1>',
    'page/a b.js': 'export {};',
    'page/.env': 'SECRET=1',
    'page/picture.PNG': 'pixels',
    'page/health': 'not the health',
    'secret.txt': 'a secret',
    'page2.txt': 'another folder',
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(parent, name), content);
  await symlink(join(folder, 'levels'), join(folder, 'linked'), 'junction');
});
afterAll(() => rm(join(folder, '..'), { recursive: true }));

/** Requests a path as it is: fetch would resolve `..` itself. */
const read = (port: number, path: string): Promise<{ status: number; type: string; body: string }> =>
  new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path }, (response) => {
      const { statusCode: status = 0, headers } = response;
      text(response).then((body) => resolve({ status, type: headers['content-type'] ?? '', body }), reject);
    });
    sent.on('error', reject).end();
  });

describe('a server with --page', () => {
  it('has the files of the folder at / in place of the playground', async () => {
    await using server = await startTestServer({ page: folder });
    const html = { status: 200, type: 'text/html; charset=utf-8' };
    expect(await read(server.port, '/')).toEqual({ ...html, body: '<h1>My game</h1>' });
    expect(await read(server.port, '/index.html?level=2')).toEqual({ ...html, body: '<h1>My game</h1>' });
    for (const path of ['/levels', '/levels/', '/linked/index.html'])
      expect(await read(server.port, path)).toEqual({ ...html, body: '<h1>Levels</h1>' });
    expect(await read(server.port, '/a%20b.js')).toMatchObject({ type: 'text/javascript; charset=utf-8' });
    expect(await read(server.port, '/picture.PNG')).toMatchObject({ type: 'image/png', body: 'pixels' });
    expect(await read(server.port, '/playground/')).toMatchObject({ status: 404 });
  });

  it('shows a changed file at the next request', async () => {
    await using server = await startTestServer({ page: folder });
    await writeFile(join(folder, 'game.js'), 'one');
    expect(await read(server.port, '/game.js')).toMatchObject({ body: 'one' });
    await writeFile(join(folder, 'game.js'), 'two');
    expect(await read(server.port, '/game.js')).toMatchObject({ body: 'two' });
  });

  it('answers itself where it has answers', async () => {
    await using server = await startTestServer({ page: folder });
    expect(await read(server.port, '/health/live')).toMatchObject({ status: 200, type: 'application/json' });
    expect(await read(server.port, '/graphs/lamp-switch')).toMatchObject({ status: 200, type: 'application/json' });
  });

  it.each([
    '/../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/..%5csecret.txt',
    '/levels/../../secret.txt',
    '/../page2.txt',
    '/.env',
    '/levels/..%2f.env',
    '/%00',
    '/%E0%A4%A',
    '/missing.js',
    '//etc/passwd',
  ])('has no other file: %s', async (path) => {
    await using server = await startTestServer({ page: folder });
    const { status, body } = await read(server.port, path);
    expect(status).toBe(404);
    expect(body).not.toMatch(/a secret|SECRET=|another folder|root:x/);
  });

  it('does not start without the folder', async () => {
    await expect(startTestServer({ page: join(folder, 'nowhere') })).rejects.toThrow(
      `--page ${join(folder, 'nowhere')}: there is no such folder`,
    );
  });
});
