import { createConnection, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isSkipped } from '../helpers/requirements.mjs';
import { TestClient } from '../helpers/server.ts';
import { readFirstLine, startCliWithFileHandles, untilExit } from './command.ts';

describe.skipIf(isSkipped('fileHandles'))('a server with few file handles', () => {
  it.each([24, 40, 60, 110, 150])('ends with an error when it may open %d', async (count) => {
    const child = startCliWithFileHandles(count, ['serve', '--port', '0', '--json']);
    child.stdin.end();
    expect(await untilExit(child)).toEqual({
      code: 1,
      out: '',
      err: 'error: fewer than 192 file handles are free; allow this process more, with "ulimit -n 1024"\n',
    });
  });

  it('accepts no more connections than it has handles, keeps running, and accepts them later', async () => {
    const args = ['serve', '--port', '0', '--json', '--log-level', 'silent', '--max-connections', '1000'];
    const child = startCliWithFileHandles(256, args);
    const end = untilExit(child);
    const { port } = JSON.parse(await readFirstLine(child)) as { readonly port: number };
    const sockets = Array.from({ length: 400 }, () => createConnection(port, '127.0.0.1').on('error', () => undefined));
    const isOpen = (socket: Socket): boolean => !socket.destroyed;
    sockets.forEach((socket) => socket.on('end', () => socket.destroy()));
    while (sockets.every(isOpen)) await wait(20);
    sockets.forEach((socket) => socket.destroy());
    const url = `ws://127.0.0.1:${port}`;
    for (;;) {
      const client = new TestClient(url, 'turngraph.v1.json');
      if (await client.receive('sessionReady').catch(() => undefined)) {
        expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
        await client[Symbol.asyncDispose]();
        break;
      }
    }
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect((await end).code).toBe(0);
  });
});
