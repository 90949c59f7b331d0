import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect, type AgentHandle, type Client, type ConnectOptions } from '../../src/client/index.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { TcpProxy } from '../helpers/tcpProxy.mjs';
import { Gate } from '../helpers/gate.ts';
import { chat } from '../helpers/graphs.ts';
import { Nginx } from '../helpers/nginx.ts';
import { checkRequirement, isSkipped } from '../helpers/requirements.mjs';
import { keyOf, resumeOn, scrapeOf, type SessionKey } from '../helpers/resume.ts';
import { errorOf, startTestServer, subprotocols, TestClient } from '../helpers/server.ts';

const names = ['a', 'b'] as const;
type ServerName = (typeof names)[number];

const story = Array.from({ length: 40 }, (_, index) => `line ${index}: näh, 東京 🦊`).join('\n');
const gate = new Gate();

/** Starts a server; its answer to "a story" waits at the gate after ten pieces. */
const startServer = (serverName: ServerName, port = 0): Promise<TurngraphServer> =>
  startTestServer({ serverName, port, script: [{ match: 'a story', answer: story, gate, piecesBeforeGate: 10 }] });

const codecs = ['proto', 'json'] as const;

/** The server that has a session. */
const serverOf = ({ sessionId }: { readonly sessionId: string }): string => sessionId.split('.')[0] ?? '';

/** Waits for the first piece of a text. */
async function untilBegun(text: AsyncIterable<string>): Promise<void> {
  for await (const _ of text) return;
}

const passing: readonly unknown[] = ['CONNECTION_DROPPED', 'SERVER_SHUTTING_DOWN'];

/** A program that saves its dialog after each turn; when its session is lost, it connects again and repeats the message. */
class Player {
  client: Client;
  saved = '[]';
  readonly #connect: () => Promise<Client>;
  #agent: AgentHandle | undefined;

  constructor(client: Client, connectAgain: () => Promise<Client>) {
    this.client = client;
    this.#connect = connectAgain;
  }

  async say(message: string, onText: () => void = () => {}): Promise<string> {
    for (;;) {
      try {
        this.#agent ??= await this.client.createAgent({ graph: chat(), history: this.saved });
        const { text } = await this.#agent.send(message, { onText });
        this.saved = await this.#agent.exportDialog();
        return text;
      } catch (error) {
        if (!passing.includes(Object(error).name)) throw error;
        await this.client.closed;
        this.#agent = undefined;
        this.client = await this.#connect();
        await this.client.configure({ engine: 'mock' });
      }
    }
  }
}

describe.skipIf(isSkipped('nginx'))('two graph servers behind nginx', () => {
  let servers: Record<ServerName, TurngraphServer>;
  let nginx: Nginx;
  beforeAll(async () => {
    checkRequirement('nginx');
    servers = { a: await startServer('a'), b: await startServer('b') };
    nginx = await Nginx.start({ a: servers.a.port, b: servers.b.port });
  });
  beforeEach(() => gate.close());
  afterAll(async () => {
    gate.open();
    await nginx[Symbol.asyncDispose]();
    for (const name of names) await servers[name][Symbol.asyncDispose]();
  });

  /** Connects until the session is on a server: new connections go to the server that has the fewest. */
  async function connectTo(name: ServerName, url: string, options: ConnectOptions): Promise<Client> {
    const others: Client[] = [];
    try {
      for (;;) {
        const client = await connect(url, { reconnect: { firstDelayMs: 0 }, ...options });
        if (serverOf(client.session) === name) {
          await client.configure({ engine: 'mock' });
          return client;
        }
        others.push(client);
      }
    } finally {
      for (const other of others) await other.close();
    }
  }

  /** How many sessions each server has resumed. */
  async function resumes(): Promise<Record<ServerName, number>> {
    const count = async (name: ServerName): Promise<number> =>
      (await scrapeOf(servers[name])).value('turngraph_sessions_resumed_total') ?? 0;
    return { a: await count('a'), b: await count('b') };
  }

  describe.each(codecs)('over %s', (codec) => {
    it('resume a session in the middle of an answer, on the server that has it', async () => {
      await using proxy = await TcpProxy.start(nginx.url);
      const before = await resumes();
      let resumed = 0;
      const onConnectionChange: ConnectOptions['onConnectionChange'] = ({ state }) => {
        if (state === 'resumed') resumed++;
      };
      const options = { codec, onConnectionChange };
      await using first = await connectTo('a', proxy.url, options);
      await using second = await connectTo('b', proxy.url, options);
      const clients = [first, second];
      const agents = await Promise.all(clients.map((client) => client.createAgent({ graph: chat() })));
      const turns = agents.map((agent) => agent.send('a story'));
      for (const turn of turns) await untilBegun(turn.text);
      proxy.cut();
      while (resumed < turns.length) await wait(5);
      proxy.cut();
      gate.open();
      expect((await Promise.all(turns)).map(({ text }) => text)).toEqual([story, story]);
      expect(await resumes()).toEqual({ a: before.a + 2, b: before.b + 2 });
      expect(clients.map(({ session }) => serverOf(session))).toEqual(['a', 'b']);
    });

    it('pass large requests and messages whole, and the pieces of a slow answer before its end', async () => {
      await using client = await connectTo('a', nginx.url, { codec });
      const strings = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(120_000));
      const { entries } = await client.request('createStringStorage', { name: 'large', kind: 'LIST', strings });
      expect(entries).toBe(strings.length);
      const history = Array.from({ length: 90 }, (_, index) => ({ user: `${index}`, assistant: 'näh'.repeat(2_000) }));
      await using agent = await client.createAgent({ graph: chat(), history });
      expect(JSON.parse(await agent.exportDialog())).toEqual(history);
      const turn = agent.send('a story');
      let text = '';
      for await (const piece of turn.text) {
        text += piece;
        if (text.split(/\s/).length >= 10) gate.open();
      }
      expect(text).toBe(story);
    });
  });

  it.each(subprotocols)('answer 2003 over %s for a session of a server that is not listed', async (subprotocol) => {
    const key = { sessionId: 'c.77531b99', resumeToken: 'x' };
    const { client, answer } = await resumeOn(`${nginx.url}/?session=${key.sessionId}`, subprotocol, key, 0);
    await using own = client;
    expect(errorOf(answer)).toMatchObject({ code: 2003 });
    expect(await own.request('configureSession', { engine: 'mock' })).toMatchObject({ body: 'configureSession' });
  });

  it('are reached by WebSocket only, and nginx logs no query', async () => {
    const address = nginx.url.replace('ws:', 'http:');
    const paths = ['/', '/metrics', '/graphs', '/health/ready', '/playground.js'];
    const statuses = await Promise.all(paths.map(async (path) => (await fetch(address + path)).status));
    expect(statuses).toEqual(paths.map(() => 404));
    const client = await TestClient.connect(`${nginx.url}/?token=secret`, 'turngraph.v1.json');
    await client[Symbol.asyncDispose]();
    let log = '';
    while (!log.includes(' 101 ')) log = await nginx.accessLog();
    expect(log).toMatch(/^127\.0\.0\.1 \[.+\] "GET \/" 101 127\.0\.0\.1:\d+ [\d.]+$/m);
    expect(log).not.toContain('secret');
  });

  it('give no new session to the one that is marked as down, and its own sessions go on and resume', async () => {
    await using proxy = await TcpProxy.start(nginx.url);
    await using old = await connectTo('a', proxy.url, {});
    await using agent = await old.createAgent({ graph: chat() });
    const turn = agent.send('a story');
    await untilBegun(turn.text);
    const entry = `127.0.0.1:${servers.a.port} max_fails=1`;
    await nginx.reload(entry, `127.0.0.1:${servers.a.port} down max_fails=1`);
    const before = await resumes();
    proxy.cut();
    const added = await Promise.all(Array.from({ length: 6 }, () => connect(nginx.url)));
    expect(added.map(({ session }) => serverOf(session))).toEqual(added.map(() => 'b'));
    gate.open();
    expect((await turn).text).toBe(story);
    expect(await resumes()).toEqual({ a: before.a + 1, b: before.b });
    await Promise.all(added.map((client) => client.close()));
    await nginx.reload(entry, entry);
  });

  it('touch no session of one while the other is drained, whose clients begin new ones by themselves', async () => {
    const players = await Promise.all(
      codecs.map(
        async (codec) => new Player(await connectTo('a', nginx.url, { codec }), () => connect(nginx.url, { codec })),
      ),
    );
    for (const player of players) await player.say('Hello!');
    const changes: string[] = [];
    const onConnectionChange: ConnectOptions['onConnectionChange'] = ({ state }) => void changes.push(state);
    const others = await Promise.all(codecs.map((codec) => connectTo('b', nginx.url, { codec, onConnectionChange })));
    const agents = await Promise.all(others.map((client) => client.createAgent({ graph: chat() })));
    const turns = agents.map((agent) => agent.send('a story'));
    const away = await Promise.all(subprotocols.map(detachedOnA));

    // Their turns run, so that the server waits with its end; they are cut off, and repeated on the other server.
    const told: Promise<string>[] = [];
    for (const player of players) await new Promise<void>((resolve) => told.push(player.say('a story', resolve)));
    const drained = servers.a[Symbol.asyncDispose]();
    await expectNotResumable(away, 'b');
    const added = await Promise.all(codecs.map((codec) => connect(nginx.url, { codec })));
    expect(added.map(({ session }) => serverOf(session))).toEqual(['b', 'b']);
    await drained;
    gate.open();
    expect((await Promise.all(turns)).map(({ text }) => text)).toEqual([story, story]);
    expect(changes).toEqual([]);
    expect(await Promise.all(told)).toEqual([story, story]);
    for (const player of players) {
      expect(await player.say('Where were we?')).toBe('You said: Where were we?');
      expect(serverOf(player.client.session)).toBe('b');
      expect((JSON.parse(player.saved) as readonly { readonly user: string }[]).map(({ user }) => user)).toEqual([
        'Hello!',
        'a story',
        'Where were we?',
      ]);
    }
    const all = [...others, ...added, ...players.map(({ client }) => client)];
    await Promise.all(all.map((client) => client.close()));

    // The server is started again under its name: it has none of its former sessions.
    servers.a = await startServer('a', servers.a.port);
    await expectNotResumable(away, 'a');
  });

  it('get the new sessions for which the other one has no room', async () => {
    const behindBalancer = true;
    await using full = await startTestServer({ serverName: 'a', behindBalancer, maxConnections: 1 });
    await using other = await startTestServer({ serverName: 'b', behindBalancer });
    await using balancer = await Nginx.start({ a: full.port, b: other.port });
    const clients: Client[] = [];
    for (let count = 0; count < 5; count++) clients.push(await connect(balancer.url, { reconnect: false }));
    expect(clients.map(({ session }) => serverOf(session)).sort()).toEqual(['a', 'b', 'b', 'b', 'b']);
    await Promise.all(clients.map((client) => client.close()));
  });

  /** Expects that sessions are refused by a server, each on a connection whose own session can be used. */
  async function expectNotResumable(keys: readonly SessionKey[], by: ServerName): Promise<void> {
    for (const [index, key] of keys.entries()) {
      const subprotocol = subprotocols[index] ?? 'turngraph.v1.proto';
      const { client, answer } = await resumeOn(`${nginx.url}/?session=${key.sessionId}`, subprotocol, key, 0);
      await using own = client;
      expect(errorOf(answer)).toMatchObject({ code: 2003 });
      expect(serverOf(await own.receive('sessionReady'))).toBe(by);
      expect(await own.request('configureSession', { engine: 'mock' })).toMatchObject({ body: 'configureSession' });
    }
  }

  /** A session on server a whose client has lost its connection. */
  async function detachedOnA(subprotocol: (typeof subprotocols)[number]): Promise<SessionKey> {
    const client = await TestClient.connect(servers.a.url, subprotocol);
    await client.createAgent(chat());
    const key = await keyOf(client);
    client.socket.terminate();
    return key;
  }
});
