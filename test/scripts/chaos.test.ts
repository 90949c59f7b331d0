import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import * as files from '../../scripts/chaos/files.mjs';
import { layoutOf, mutate } from '../../scripts/chaos/mutations.mjs';
import { startProxy } from '../../scripts/chaos/proxy.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import { demoFile } from '../model/demo.ts';

// Short versions of the cases of `npm run chaos`, and tests of what they use.

const log = (): void => undefined;
const target = { model: 'turngraph-demo', file: demoFile };

describe('the proxy', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of cleanups.splice(0).reverse()) await close();
  });

  /** A connection through a proxy; `received` are the bytes that each side has read. */
  async function connectThroughProxy() {
    const accepted: Socket[] = [];
    const server = createServer((socket) => accepted.push(socket.on('error', log)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    cleanups.push(() => server.close());
    const proxy = await startProxy({ port: (server.address() as AddressInfo).port, seed: 1 });
    cleanups.push(() => proxy.close());
    const client = connect(proxy.port, '127.0.0.1').on('error', log);
    await Promise.all([once(client, 'connect'), once(server, 'connection')]);
    const [far] = accepted as [Socket];
    const chunks: Record<'toServer' | 'toClient', Buffer[]> = { toServer: [], toClient: [] };
    far.on('data', (data: Buffer) => chunks.toServer.push(data));
    client.on('data', (data: Buffer) => chunks.toClient.push(data));
    return { proxy, client, far, chunks };
  }

  it('delivers all bytes of both directions, in many pieces', async () => {
    const { proxy, client, far, chunks } = await connectThroughProxy();
    const sent = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index % 251));
    const ends = Promise.all([once(far, 'end'), once(client, 'end')]);
    client.end(sent);
    far.end(sent);
    await ends;
    expect(Buffer.concat(chunks.toServer).equals(sent)).toBe(true);
    expect(Buffer.concat(chunks.toClient).equals(sent)).toBe(true);
    expect(proxy.counts).toMatchObject({ connections: 1, cuts: 0 });
    expect(proxy.counts.pieces).toBeGreaterThan(80);
  });

  it.each(['toServer', 'toClient'] as const)('cuts a connection after some more bytes %s', async (direction) => {
    const { proxy, client, far, chunks } = await connectThroughProxy();
    proxy.arm({ direction, bytes: 1234 });
    const closes = Promise.all([far, client].map((socket) => new Promise((resolve) => socket.on('close', resolve))));
    (direction === 'toServer' ? client : far).write(Buffer.alloc(20_000));
    await closes;
    // A reset may overtake the last of them.
    expect(Buffer.concat(chunks[direction]).length).toBeLessThanOrEqual(1234);
    expect(proxy.counts.cuts).toBe(1);
  });
});

describe('a mutated GGUF file', () => {
  it('differs where its kind says, and is the same for the same seed', async () => {
    const file = await readFile(demoFile);
    const layout = layoutOf(file);
    expect(layout.values.map(({ key }) => key)).toContain('llama.block_count');
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 40; seed++) {
      const { kind, what, content } = mutate(file, layout, createRng(seed));
      const again = mutate(file, layout, createRng(seed));
      expect([again.what, again.content.equals(content)]).toEqual([what, true]);
      kinds.add(kind);
      const same = (start: number, end: number): boolean =>
        content.subarray(start, end).equals(file.subarray(start, Math.min(end, content.length)));
      const unchanged = {
        metadata: same(0, layout.tableAt),
        table: same(layout.tableAt, layout.dataAt),
        data: same(layout.dataAt, file.length),
      };
      const part = kind.startsWith('metadata') ? 'metadata' : kind === 'data' ? 'data' : 'table';
      expect({ ...unchanged, [part]: true }).toEqual({ metadata: true, table: true, data: true });
    }
    expect(kinds.size).toBe(5);
  });
});

describe('a server with mutated models', () => {
  it('refuses them or loads them, and does not end', { timeout: 60_000 }, async () => {
    const { faults, figures } = await files.run(target, { count: 15, seed: 1, log });
    expect(faults).toEqual([]);
    expect(figures).toMatchObject({ files: 15 });
  });
});
