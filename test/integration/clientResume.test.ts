import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connect, type Client, type ConnectionChange, type ConnectOptions } from '../../src/client/index.ts';
import { codecs, isWhole } from '../helpers/depth.ts';
import { TcpProxy } from '../helpers/tcpProxy.mjs';
import { chat } from '../helpers/graphs.ts';
import { parseScrape } from '../helpers/prometheus.ts';
import { startTestServer, useServer } from '../helpers/server.ts';

// Characters of one to four bytes, so that a cut can fall into the middle of one.
const story = Array.from({ length: 60 }, (_, index) => `line ${index}: näh, 東京 🦊, "quoted"\n`).join('');

const server = useServer({ script: [{ match: 'a story', answer: story, chunk: 7 }] });

let proxy: TcpProxy;
let changes: ConnectionChange[] = [];
beforeEach(async () => {
  changes = [];
  proxy = await TcpProxy.start(server().url);
});
afterEach(() => proxy.stop());

/** Connects through the proxy, and chooses the mock engine. */
async function connectThroughProxy(options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(proxy.url, {
    reconnect: { firstDelayMs: 0 },
    ...options,
    onConnectionChange: (change) => {
      changes.push(change);
      options.onConnectionChange?.(change);
    },
  });
  await client.configure({ engine: 'mock' });
  return client;
}

const resumed = (): number => changes.filter(({ state }) => state === 'resumed').length;
const sumOf = (field: 'replayed' | 'resent'): number =>
  changes.reduce((sum, change) => sum + (change.state === 'resumed' ? change[field] : 0), 0);

describe.each(codecs)('a client over %s', (codec) => {
  it('streams the whole answer when the connection is cut in the middle of it, wherever that is', async () => {
    await using client = await connectThroughProxy({ codec });
    await using agent = await client.createAgent({ graph: chat() });
    const before = proxy.bytes.toClient;
    expect((await agent.send('a story')).text).toBe(story);
    const bytes = proxy.bytes.toClient - before;
    expect(bytes).toBeGreaterThan(story.length);

    const cuts = isWhole ? 10 : 3;
    for (let cut = 0; cut < cuts; cut++) {
      proxy.cutAfter('toClient', Math.floor((bytes * 0.95 * cut) / cuts));
      const pieces: string[] = [];
      const turn = await agent.send('a story', { onText: (piece) => pieces.push(piece) });
      expect(pieces.join('')).toBe(story);
      expect(turn.text).toBe(story);
    }
    expect([proxy.cuts, resumed(), proxy.connections]).toEqual([cuts, cuts, cuts + 1]);
    expect(sumOf('replayed')).toBeGreaterThan(cuts);
    const dialog = JSON.parse(await agent.exportDialog()) as readonly object[];
    expect(dialog).toEqual(Array(cuts + 1).fill({ user: 'a story', assistant: story }));
  });

  it('streams the whole answer when each new connection is cut again', async () => {
    await using client = await connectThroughProxy({ codec });
    await using agent = await client.createAgent({ graph: chat() });
    // Enough for the handshake and some frames of the answer.
    proxy.cutAfter('toClient', ...Array<number>(10).fill(900));
    expect((await agent.send('a story')).text).toBe(story);
    expect(proxy.cuts).toBe(10);
    expect(JSON.parse(await agent.exportDialog())).toHaveLength(1);
  });

  it('lets each request take effect once when the connection is cut between its sending and its reading', async () => {
    await using client = await connectThroughProxy({ codec });
    const create = (name: string) =>
      client.request('createStringStorage', { name, kind: 'LIST', strings: ['fool', 'knave'] });
    const burst = (prefix: string) => Promise.all(['a', 'b', 'c', 'd'].map((name) => create(`${prefix}-${name}`)));
    const before = proxy.bytes.toServer;
    await burst('first');
    const bytes = proxy.bytes.toServer - before;

    const cuts = isWhole ? 10 : 3;
    for (let cut = 0; cut < cuts; cut++) {
      proxy.cutAfter('toServer', Math.floor((bytes * 0.95 * cut) / cuts));
      // A request that took effect twice would be answered with STRING_STORAGE_ALREADY_EXISTS, and a lost one never.
      expect(await burst(`cut-${cut}`)).toEqual(Array(4).fill({ entries: 2 }));
      await expect(create(`cut-${cut}-d`)).rejects.toMatchObject({ code: 7002 });
    }
    expect([proxy.cuts, resumed()]).toEqual([cuts, cuts]);
    expect(sumOf('resent')).toBeGreaterThan(cuts);
  });

  it('lets each request take effect once when the connection is cut before its answer', async () => {
    await using client = await connectThroughProxy({ codec });
    const cuts = 30;
    for (let cut = 0; cut < cuts; cut++) {
      proxy.cutAfter('toClient', cut);
      const names = ['a', 'b', 'c'].map((name) => `answer-${cut}-${name}`);
      const answers = names.map((name) =>
        client.request('createStringStorage', { name, kind: 'LIST', strings: ['x'] }),
      );
      expect(await Promise.all(answers)).toEqual(Array(3).fill({ entries: 1 }));
    }
    expect([proxy.cuts, resumed()]).toEqual([cuts, cuts]);
  });

  it('sends requests that were made while the server was out of reach', async () => {
    await using client = await connectThroughProxy({ codec });
    await using agent = await client.createAgent({ graph: chat() });
    proxy.isSilent = true;
    proxy.cut();
    await vi.waitFor(() => expect(proxy.connections).toBe(2), 20_000);
    const turn = agent.send('a story');
    const models = client.listModels();
    proxy.isSilent = false;
    proxy.cut();
    expect((await turn).text).toBe(story);
    expect((await models).length).toBeGreaterThan(0);
    expect(resumed()).toBe(1);
  });

  it('leaves no agent behind when it is closed', async () => {
    const client = await connectThroughProxy({ codec });
    await client.createAgent({ graph: chat() });
    await client.createAgent({ graph: chat() });
    proxy.cut();
    await client.createAgent({ graph: chat() });
    await client.close();
    await vi.waitFor(async () => expect(await gauge('turngraph_agents')).toBe(0), 20_000);
  });
});

describe('a client whose server no longer has its session', () => {
  it('rejects what is pending, and says what to do', async () => {
    await using strict = await startTestServer({ resumeGrace: 0 });
    await using strictProxy = await TcpProxy.start(strict.url);
    await using client = await connect(strictProxy.url, {
      reconnect: { firstDelayMs: 0 },
      onConnectionChange: (change) => changes.push(change),
    });
    await client.configure({ engine: 'mock' });
    strictProxy.cut();
    await expect(client.listModels()).rejects.toMatchObject({
      code: 1002,
      message: expect.stringMatching(/create the agents again, from saved dialogs$/) as string,
      cause: { code: 2003 },
    });
    expect(await client.closed).toEqual({ code: 1006, reason: '' });
    expect(changes.map(({ state }) => state)).toEqual(['reconnecting', 'lost']);
  });
});

async function gauge(name: string): Promise<number | undefined> {
  const response = await fetch(new URL('/metrics', server().url.replace('ws:', 'http:')));
  return parseScrape(await response.text()).value(name);
}
