import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Client } from '../../examples/browser/turngraph.js';
import { TcpProxy } from '../helpers/tcpProxy.mjs';
import { Gate } from '../helpers/gate.ts';
import { repositoryPath, startTestServer, type TestServerOptions } from '../helpers/server.ts';

const story = 'once upon a time there was a lamp';
const gate = new Gate();
const script = [
  { match: 'held', answer: story, gate },
  { match: 'story', answer: story },
];

// The client for pages needs nothing of a page but this. test/e2e/clients/browser.test.ts runs it in a page.
const ownWebSocket = globalThis.WebSocket;
beforeAll(() => {
  globalThis.WebSocket = WebSocket as unknown as typeof globalThis.WebSocket;
});
afterAll(() => {
  globalThis.WebSocket = ownWebSocket;
});

/** An agent of the client, which has no types of its own. */
interface PageAgent {
  send(text: string, options?: { readonly onText?: (piece: string) => void }): Promise<{ readonly status: string }>;
  exportDialog(): Promise<string>;
  readonly historyJson: string;
}

/** A server, a proxy that cuts connections, and a client with one agent. `events` has what the client reports. */
async function setUp(options: TestServerOptions = {}) {
  const server = await startTestServer({ script, ...options });
  const proxy = await TcpProxy.start(server.url);
  const events: string[] = [];
  let notice = (): void => undefined;
  const add = (event: string): void => {
    events.push(event);
    notice();
  };
  const client = new Client(proxy.url, {
    configuration: { engine: 'mock' },
    onLost: () => add('lost'),
    onReconnected: (isResumed: boolean) => add(isResumed ? 'resumed' : 'restored'),
  });
  await client.ready();
  const agent = (await client.createAgent({ graphName: 'chat' })) as PageAgent;
  gate.close();
  return {
    server,
    proxy,
    client,
    agent,
    events,
    until: async (event: string) => {
      while (!events.includes(event)) await new Promise<void>((resolve) => (notice = resolve));
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await proxy.stop();
      gate.open();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Sends a message. Resolves when the first piece has come. */
async function sendUntilFirstPiece(agent: PageAgent, text: string) {
  const pieces: string[] = [];
  let hear = (): void => undefined;
  const first = new Promise<void>((resolve) => (hear = resolve));
  const turn = agent.send(text, {
    onText: (piece) => {
      pieces.push(piece);
      hear();
    },
  });
  await Promise.race([first, turn]);
  return { pieces, turn };
}

describe('the client for pages', () => {
  it('goes on in the middle of an answer when the connection breaks', async () => {
    await using test = await setUp();
    const { pieces, turn } = await sendUntilFirstPiece(test.agent, 'The held story.');
    test.proxy.cut();
    await test.until('resumed');
    gate.open();
    expect(await turn).toMatchObject({ status: 'SUCCESS' });
    expect(pieces.join('')).toBe(story);
    expect(test.events.filter((event) => event !== 'lost')).toEqual(['resumed']);
  });

  it('sends what the server has not received, once', async () => {
    await using test = await setUp();
    test.proxy.cutAfter('toServer', 20);
    const turns = [test.agent.send('The story.'), test.client.request('listModels', {}), test.agent.exportDialog()];
    await Promise.all(turns);
    await test.agent.send('Again.');
    const dialog = JSON.parse(await test.agent.exportDialog()) as readonly { readonly user: string }[];
    expect(dialog.map(({ user }) => user)).toEqual(['The story.', 'Again.']);
    expect(test.events.filter((event) => event !== 'lost')).toEqual(['resumed']);
  });

  it('loses nothing when the connection breaks again and again', async () => {
    await using test = await setUp();
    test.proxy.cutAfter('toClient', 700, 900, 800);
    const pieces: string[] = [];
    await test.agent.send('The story.', { onText: (piece) => pieces.push(piece) });
    expect(pieces.join('')).toBe(story);
    expect(test.proxy.cuts).toBeGreaterThanOrEqual(2);
  });

  it('creates its agents again, with their dialogs, when the session is lost', async () => {
    await using test = await setUp({ resumeGrace: 0 });
    await test.agent.send('The story.');
    const { turn } = await sendUntilFirstPiece(test.agent, 'The held story.');
    test.proxy.cut();
    await expect(turn).rejects.toMatchObject({ code: 1002 });
    await test.client.ready();
    gate.open();
    const dialog = JSON.parse(await test.agent.exportDialog()) as readonly { readonly user: string }[];
    expect(dialog.map(({ user }) => user)).toEqual(['The story.']);
    expect(test.events.filter((event) => event !== 'lost')).toEqual(['restored']);
  });

  it('has the dialog that an agent was created with, also after its session is lost', async () => {
    await using test = await setUp({ resumeGrace: 0 });
    const fresh = (await test.client.createAgent({ graphName: 'chat', history: null })) as PageAgent;
    expect(fresh.historyJson).toBeUndefined();
    const history = [{ user: 'Hello!', assistant: 'Good evening.' }];
    const agent = (await test.client.createAgent({ graphName: 'chat', history })) as PageAgent;
    expect(JSON.parse(agent.historyJson)).toEqual(history);
    test.proxy.cut();
    await test.until('restored');
    expect(JSON.parse(await agent.exportDialog())).toMatchObject(history);
    const other = (await test.client.createAgent({ graphName: 'chat', history: agent.historyJson })) as PageAgent;
    expect(other.historyJson).toBe(agent.historyJson);
  });

  it('names the field that is too long for a frame, sends nothing, and continues', async () => {
    await using test = await setUp();
    const history = [{ user: 'x'.repeat(1_200_000), assistant: '' }];
    await expect(test.client.createAgent({ graphName: 'chat', history })).rejects.toMatchObject({
      code: 5003,
      message: expect.stringMatching(
        /createAgent has \d+ bytes, most of them in historyJson, .*nothing was sent/,
      ) as unknown,
    });
    expect(await test.agent.send('The story.')).toMatchObject({ status: 'SUCCESS' });
    expect(test.events).toEqual([]);
  });

  it('says of each request why it has stopped, where an agent cannot be created again', async () => {
    const graphs = await mkdtemp(join(tmpdir(), 'turngraph-page-'));
    await cp(repositoryPath('graphs/chat.json'), join(graphs, 'chat.json'));
    await using test = await setUp({ resumeGrace: 0, graphs });
    await rm(graphs, { recursive: true });
    test.proxy.cut();
    await expect.poll(() => test.client.ready().then(String, ({ code }: { code: number }) => code)).toBe(3003);
    await expect(test.client.request('listModels', {})).rejects.toMatchObject({ code: 3003 });
    await expect(test.agent.send('Hello!')).rejects.toMatchObject({ code: 3003 });
  });

  it('tells a turn why there was no connection when the page closes the client', async () => {
    await using test = await setUp();
    const { turn } = await sendUntilFirstPiece(test.agent, 'The held story.');
    await test.proxy.stop();
    await test.until('lost');
    await test.client.close();
    await expect(turn).rejects.toThrow(/^1002 .*\(1006 \); closed by the client$/);
    gate.open();
  });

  it('rejects when a turn fails, with what there was of it', async () => {
    await using test = await setUp();
    const loop = {
      start_node: 'tick',
      nodes: { tick: { type: 'CannedResponse', params: { inline_strings: ['tick '] }, exits: { default: 'tick' } } },
    };
    const agent = (await test.client.createAgent({ graph: JSON.stringify(loop), maxStepsPerTurn: 2 })) as PageAgent;
    await expect(agent.send('Go.')).rejects.toMatchObject({
      code: 4003,
      turn: { status: 'ERROR', text: 'tick tick ', calls: [] },
    });
  });

  it('destroys its agents when the page closes it', async () => {
    await using test = await setUp();
    const agents = async () =>
      Number(
        /^turngraph_agents (\d+)/m.exec(
          await (await fetch(`${test.server.url.replace('ws', 'http')}/metrics`)).text(),
        )?.[1],
      );
    expect(await agents()).toBe(1);
    test.client.close();
    while ((await agents()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(test.agent.send('Hello!')).rejects.toMatchObject({ code: 1002 });
    await expect(test.client.ready()).rejects.toMatchObject({ code: 1002 });
  });
});
