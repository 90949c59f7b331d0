import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { defineNode } from '../../src/index.ts';
import { ClientSocket } from '../../src/server/socket/connection.ts';
import { RequestDispatcher } from '../../src/server/session/dispatcher.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { Gate } from '../helpers/gate.ts';
import { chat } from '../helpers/graphs.ts';
import { holdLoads, oneDayMs } from '../helpers/heldEngine.ts';
import { parseScrape } from '../helpers/prometheus.ts';
import { errorOf, startTestServer, subprotocols, TestClient, type TestServerOptions } from '../helpers/server.ts';

const kibibyte = 1024;
const limits = { maxQueuedBytes: 1024 * kibibyte, maxTotalQueuedBytes: 4096 * kibibyte };
const requestBytes = 300 * kibibyte;
const text = 'x'.repeat(requestBytes);

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A server with a node type `Held`, whose creation waits at a gate, so that the requests after it wait, too. */
async function startHeld(
  options: TestServerOptions = {},
): Promise<{ readonly server: TurngraphServer; readonly gate: Gate }> {
  const gate = new Gate();
  const held = defineNode({
    type: 'Held',
    summary: 'Is created when a gate opens.',
    params: { type: 'object', properties: {} },
    exits: ['default'],
    create: async () => {
      await gate.closed;
      return { run: () => Promise.resolve('default' as const) };
    },
  });
  const server = await startTestServer({ extension: { nodeTypes: [held] }, ...limits, ...options });
  onTestFinished(() => {
    gate.open();
    return server[Symbol.asyncDispose]();
  });
  return { server, gate };
}

async function connect(server: TurngraphServer, subprotocol: Subprotocol = 'turngraph.v1.json'): Promise<TestClient> {
  const client = await TestClient.connect(server.url, subprotocol);
  onTestFinished(() => client.socket.terminate());
  return client;
}

const held = { graphJson: JSON.stringify({ start_node: 'a', nodes: { a: { type: 'Held' } } }) };

/** Sends requests that are answered with 3001 when their turn comes. Returns their ids. */
const sendLarge = (client: TestClient, count: number): readonly number[] =>
  Array.from({ length: count }, () => client.send('sendMessage', { agentId: 99, text }));

async function scrape(server: TurngraphServer): Promise<(name: string) => number> {
  const scraped = parseScrape(await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text());
  return (name) => scraped.value(`turngraph_${name}`) ?? 0;
}

async function untilPaused(server: TurngraphServer, connections: number): Promise<void> {
  while ((await scrape(server))('paused_connections') < connections) await wait(10);
}

describe.each(subprotocols)('over %s', (subprotocol) => {
  it('a client whose requests wait is not read above the limit, and gets every answer in order', async () => {
    const { server, gate } = await startHeld();
    const client = await connect(server, subprotocol);
    client.send('createAgent', held);
    const ids = sendLarge(client, 10);
    await untilPaused(server, 1);
    // Nothing more is read, however long the client sends.
    for (let round = 0; round < 20; round++) {
      await wait(5);
      const value = await scrape(server);
      expect(value('queued_request_bytes')).toBeGreaterThan(limits.maxQueuedBytes / 2);
      expect(value('queued_request_bytes')).toBeLessThan(limits.maxQueuedBytes + requestBytes + kibibyte);
    }
    const other = await connect(server, subprotocol);
    expect(await other.sendMessage(await other.createAgent(chat()), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
    gate.open();
    for (const id of ids) expect(errorOf(await client.finalResponse(id)).code).toBe(3001);
    const answered = client.received.map(({ requestId }) => requestId).filter((id) => ids.includes(id));
    expect(answered).toEqual(ids);
    const value = await scrape(server);
    expect([value('queued_request_bytes'), value('paused_connections')]).toEqual([0, 0]);
  });

  it('a request that is larger than the limit is handled when nothing else waits', async () => {
    const server = await startTestServer({ maxQueuedBytes: 1, maxTotalQueuedBytes: 1 });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const client = await connect(server, subprotocol);
    const ids = sendLarge(client, 5);
    for (const id of ids) expect(errorOf(await client.finalResponse(id)).code).toBe(3001);
  });
});

describe('many clients whose requests wait', () => {
  it('are read up to the limit of all, and each still has a request read', async () => {
    const { server, gate } = await startHeld({ maxQueuedBytes: oneDayMs });
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server)));
    for (const client of clients) client.send('createAgent', held);
    // Those of one client alone are more than may wait.
    const ids = clients.map((client) => sendLarge(client, 15));
    await untilPaused(server, clients.length);
    const value = await scrape(server);
    const maxBytes = limits.maxTotalQueuedBytes + clients.length * (requestBytes + kibibyte);
    expect(value('queued_request_bytes')).toBeLessThan(maxBytes);

    // All bytes are taken by others; a client without a waiting request gets its answers.
    const late = await connect(server);
    for (let count = 0; count < 3; count++) {
      expect(errorOf(await late.request('sendMessage', { agentId: 1, text })).code).toBe(3001);
    }
    gate.open();
    for (const [index, client] of clients.entries()) {
      for (const id of ids[index] ?? []) expect(errorOf(await client.finalResponse(id)).code).toBe(3001);
    }
  });
});

describe('requests for an agent that is being created', () => {
  const model = { graphJson: JSON.stringify(chat({ model_name: 'turngraph-demo' })) };

  /** A client whose first agent waits for its model until the gate opens. */
  async function waitForModel(options: TestServerOptions = {}, fields: object = {}) {
    const gate = new Gate();
    const engines = { 'llama-cpp': holdLoads(llamaEngine(), gate) };
    const server = await startTestServer({ engines, ...options });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const client = await TestClient.connect(server.url, 'turngraph.v1.json', 'llama-cpp');
    onTestFinished(() => client.socket.terminate());
    const creation = client.send('createAgent', { ...model, ...fields });
    await client.receive('modelProgress');
    return { gate, client, creation };
  }

  it('are refused above the limit, so that later requests are still read', async () => {
    const { gate, client, creation } = await waitForModel({ maxQueuedBytes: 2 * requestBytes + kibibyte });
    const send = (): number => client.send('sendMessage', { agentId: 1, text });
    const [first, second, third] = [send(), send(), send()];
    expect(errorOf(await client.finalResponse(third))).toMatchObject({
      code: 2005,
      message: expect.stringMatching(/^requests of \d+ bytes wait for agents to be created/) as unknown,
    });
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
    gate.open();
    expect(await client.finalResponse(creation)).toMatchObject({ body: 'createAgent' });
    // Above the limit of a message, which is seen when the request is handled.
    for (const id of [first, second]) expect(errorOf(await client.finalResponse(id)).message).toContain('262144');
  });

  it('wait for a client that does not read', async () => {
    const historyBytes = 400_000;
    const historyJson = JSON.stringify([{ user: 'x'.repeat(historyBytes), assistant: 'y' }]);
    const { gate, client } = await waitForModel({}, { historyJson });
    const exports = Array.from({ length: 40 }, () => client.send('exportDialog', { agentId: 1 }));
    await client.request('listModels');
    const send = vi.spyOn(ClientSocket.prototype, 'send');
    client.socket.pause();
    gate.open();
    const unsent = (): number =>
      Math.max(0, ...send.mock.contexts.map((socket) => (socket as WebSocket).bufferedAmount));
    while (unsent() < 1024 * kibibyte) await wait(5);
    for (let round = 0; round < 20; round++) {
      await wait(5);
      expect(unsent()).toBeLessThan(1024 * kibibyte + 2 * historyBytes);
    }
    client.socket.resume();
    const isLastPart = (id: number): Promise<unknown> =>
      client.waitFor(
        (frame) =>
          frame.requestId === id && frame.body === 'exportDialog' && frame.exportDialog.part === frame.exportDialog.of,
      );
    await Promise.all(exports.map(isLastPart));
  });
});

describe('a connection that is paused', () => {
  const pingMs = 30_000;
  const advancePings = async (count: number): Promise<void> => {
    for (let ping = 0; ping < count; ping++) {
      vi.advanceTimersByTime(pingMs);
      await wait(20);
    }
  };

  /** A client whose connection the server has paused; intervals pass only when the test advances the time. */
  async function pausedClient() {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { server, gate } = await startHeld();
    const client = await connect(server);
    client.send('createAgent', held);
    const ids = sendLarge(client, 10);
    await untilPaused(server, 1);
    return { server, gate, client, ids };
  }

  it('is not dropped because its pongs are not read', async () => {
    const { gate, client, ids } = await pausedClient();
    await advancePings(5);
    gate.open();
    for (const id of ids) expect(errorOf(await client.finalResponse(id)).code).toBe(3001);
    await advancePings(5);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
  });

  it('is dropped when its client has gone', async () => {
    const { server, client } = await pausedClient();
    client.socket.terminate();
    while ((await scrape(server))('connections') > 0) await advancePings(1);
  });

  it('is closed with 1001 when the server shuts down', async () => {
    const { server, gate, client } = await pausedClient();
    const dispose = vi.spyOn(RequestDispatcher.prototype, Symbol.asyncDispose);
    const disposal = server[Symbol.asyncDispose]();
    while (dispose.mock.calls.length === 0) await wait(5);
    gate.open();
    expect((await client.closed).code).toBe(1001);
    await disposal;
  });

  it('is closed with 4408 when its client does not read the answers', async () => {
    const sendBuffer = { highWaterMark: 1000, lowWaterMark: 100, slowReaderTimeoutMs: 5000 };
    const { server } = await startHeld({ sendBuffer });
    const client = await connect(server);
    const agentId = await client.createAgent(chat(), {
      historyJson: JSON.stringify([{ user: 'x'.repeat(900_000), assistant: '' }]),
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    client.socket.pause();
    for (let count = 0; count < 40; count++) client.send('exportDialog', { agentId });
    sendLarge(client, 10);
    await untilPaused(server, 1);
    while ((await scrape(server))('slow_readers') < 1) await wait(5);
    vi.advanceTimersByTime(sendBuffer.slowReaderTimeoutMs);
    vi.useRealTimers();
    client.socket.resume();
    expect((await client.closed).code).toBe(4408);
  });
});

describe('a connection that is read', () => {
  it('is closed with 1008 when a message has more than 256 fragments', async () => {
    const server = await startTestServer({});
    onTestFinished(() => server[Symbol.asyncDispose]());
    const client = await connect(server);
    const sendFragments = (count: number): void => {
      for (let index = 1; index <= count; index++) client.socket.send(' ', { fin: index === count });
    };
    sendFragments(256);
    expect(errorOf(await client.waitFor(({ body }) => body === 'error')).code).toBe(5001);
    sendFragments(257);
    expect((await client.closed).code).toBe(1008);
  });

  it('is dropped when its client does not answer pings', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const server = await startTestServer({});
    onTestFinished(() => server[Symbol.asyncDispose]());
    const socket = new WebSocket(server.url, { autoPong: false });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    await new Promise((resolve) => socket.on('message', resolve));
    vi.advanceTimersByTime(30_000);
    await new Promise((resolve) => socket.on('ping', resolve));
    vi.advanceTimersByTime(30_000);
    expect(await closed).toBe(1006);
  });
});
