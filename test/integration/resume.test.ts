import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { RequestDispatcher } from '../../src/server/session/dispatcher.ts';
import { floodOptions, floodText, flooding } from '../helpers/flood.ts';
import { Gate } from '../helpers/gate.ts';
import { chat } from '../helpers/graphs.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';
import { startHubServer } from '../helpers/hubFixture.ts';
import {
  framesOf,
  keyOf,
  lastSeqOf,
  resumed,
  resumeOn,
  scrapeOf,
  seqsTo,
  textOf,
  untilGauge,
  type SessionKey,
} from '../helpers/resume.ts';
import {
  errorOf,
  startTestServer,
  subprotocols,
  TestClient,
  useServer,
  type TestServerOptions,
} from '../helpers/server.ts';

const words = Array.from({ length: 40 }, (_, index) => `wörd${index} `).join('');

/** Each codec before the cut, with each codec after it. */
const codecPairs = subprotocols.flatMap((before) => subprotocols.map((after) => ({ before, after })));

describe.each(codecPairs)('a session over $before that is resumed over $after', ({ before, after }) => {
  it('gets the rest of an answer that was cut, without a gap or a duplicate', async () => {
    const gate = new Gate();
    await using server = await startTestServer({
      script: [{ match: 'tell', answer: words, gate, piecesBeforeGate: 5 }],
    });
    await using first = await TestClient.connect(server.url, before);
    const key = await keyOf(first);
    const agentId = await first.createAgent(chat());
    const requestId = first.send('sendMessage', { agentId, text: 'tell' });
    await first.waitFor((frame) => frame.body === 'answerText');
    first.socket.terminate();
    await untilGauge(server, 'detached_sessions', 1);

    // The turn goes on and ends without a connection.
    gate.open();
    await untilGauge(server, 'turns_running', 0);
    const lastSeq = lastSeqOf(first);
    const { client, replayed, requestsReceived } = await resumed(server.url, after, key, lastSeq);
    await using second = client;
    const turn = await second.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'SUCCESS', agentId });
    expect(textOf(requestId, first, second)).toBe(words);
    expect(framesOf(first, second).map(({ seq }) => seq)).toEqual(seqsTo(lastSeq + replayed));
    expect(requestsReceived).toBe(3);

    // The agent, its dialog and the numbers of the frames go on.
    const dialog = await second.request('exportDialog', { agentId });
    expect(dialog).toMatchObject({ seq: lastSeq + replayed + 1, body: 'exportDialog' });
    expect(JSON.stringify(dialog)).toContain('wörd39');
  });
});

/** A server on which a turn can fill all buffers, and that keeps all of it. */
const patient: TestServerOptions = { ...floodOptions(), maxReplayBytes: 64 * 1024 * 1024 };

afterEach(() => void vi.restoreAllMocks());

describe.each(subprotocols)('resume over %s', (subprotocol) => {
  const other = subprotocols.find((name) => name !== subprotocol) ?? subprotocol;

  it('sends each request again that was not received, and no other', async () => {
    await using server = await startTestServer({});
    let client = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(client);
    const clients = [client];
    const names = Array.from({ length: 200 }, (_, index) => `storage${index}`);
    // The request that configures the engine is the first one of the session.
    let sent = 0;
    while (sent < names.length) {
      for (const name of names.slice(sent, sent + 37)) client.send('createStringStorage', { name, strings: ['x'] });
      client.socket.terminate();
      await client.closed;
      const next = await resumed(server.url, subprotocol, key, lastSeqOf(...clients));
      client = next.client;
      clients.push(client);
      sent = next.requestsReceived - 1;
    }
    await client.request('listModels');
    expect(framesOf(...clients).map(({ seq }) => seq)).toEqual(seqsTo(names.length + 2));
    const answers = framesOf(...clients).filter(({ body }) => body !== 'configureSession' && body !== 'listModels');
    expect(answers.map(({ body }) => body)).toEqual(names.map(() => 'createStringStorage'));
    client.socket.terminate();
  });

  it('counts what waits in the queue of the old connection, and handles it', async () => {
    const receive = vi.spyOn(RequestDispatcher.prototype, 'receive');
    await using server = await startTestServer(patient);
    await using first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agentId = await first.createAgent(flooding(4000));
    const turn = first.send('sendMessage', { agentId, text: 'go' });
    first.socket.pause();
    await untilGauge(server, 'slow_readers', 1);
    // These wait until the client has read more. The resumeSession is refused later, and is not counted.
    const exported = first.send('exportDialog', { agentId });
    const misplaced = first.send('resumeSession', { ...key, lastSeq: 1 });
    first.socket.send('{ no JSON');
    await vi.waitUntil(() => receive.mock.calls.length === 6, 60_000);
    const before = [...first.received];
    const { client, requestsReceived } = await resumed(server.url, other, key, lastSeqOf({ received: before }));
    await using second = client;
    first.socket.resume();
    expect(requestsReceived).toBe(5);
    // The turn waited for the old connection to read, and goes on.
    expect(await second.turnOf(turn)).toMatchObject({ status: 'SUCCESS' });
    expect(textOf(turn, { received: before }, second)).toBe(floodText(4000));
    expect(await second.finalResponse(exported)).toMatchObject({ body: 'exportDialog' });
    expect(errorOf(await second.finalResponse(misplaced)).code).toBe(2003);
    await untilGauge(server, 'queued_request_bytes', 0);
    expect((await first.closed).code).toBe(4409);
  });

  it('replays megabytes to a client that reads slowly, within the limits of its send buffer', async () => {
    // 6 MB.
    const pieces = 1500;
    await using server = await startTestServer(patient);
    await using first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agentId = await first.createAgent(flooding(pieces));
    const turn = first.send('sendMessage', { agentId, text: 'go' });
    await first.waitFor(({ body }) => body === 'answerText');
    first.socket.terminate();
    await untilGauge(server, 'turns_running', 0);
    for (const reader of new Set([subprotocol, other])) {
      const { client, replayed } = await resumed(server.url, reader, key, 2);
      await using second = client;
      second.socket.pause();
      await untilGauge(server, 'slow_readers', 1);
      expect((await scrapeOf(server)).value('turngraph_unsent_bytes')).toBeLessThan(2 * 1024 * 1024);
      second.socket.resume();
      expect(await second.turnOf(turn)).toMatchObject({ status: 'SUCCESS' });
      expect(textOf(turn, second)).toBe(floodText(pieces));
      expect(framesOf(second).map(({ seq }) => seq)).toEqual(seqsTo(replayed + 2).slice(2));
    }
  });

  it('goes on in order with requests that are sent before its answer', async () => {
    await using server = await startTestServer({});
    await using first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agentId = await first.createAgent(chat());
    await using second = new TestClient(server.url, subprotocol, 100);
    await second.receive('sessionReady');
    const resume = second.send('resumeSession', { ...key, lastSeq: lastSeqOf(first) });
    const message = second.send('sendMessage', { agentId, text: 'hello' });
    expect((await second.turnOf(message)).text).toBe('You said: hello');
    expect(second.received[1]).toMatchObject({
      requestId: resume,
      seq: 0,
      resumeSession: { replayed: 0, requestsReceived: 2 },
    });
    expect((await first.closed).code).toBe(4409);
  });

  it('lets the last of several connections have the session', async () => {
    await using server = await startTestServer({});
    const first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agentId = await first.createAgent(chat());
    const lastSeq = lastSeqOf(first);
    const tries = await Promise.all([1, 2, 3].map(() => resumed(server.url, subprotocol, key, lastSeq)));
    expect(tries.map(({ requestsReceived }) => requestsReceived)).toEqual([2, 2, 2]);
    await vi.waitUntil(
      () => tries.filter(({ client }) => client.socket.readyState === WebSocket.CLOSED).length === 2,
      60_000,
    );
    const { client } = tries.find((each) => each.client.socket.readyState === WebSocket.OPEN) ?? failed();
    expect((await client.sendMessage(agentId, 'hello')).text).toBe('You said: hello');
    const codes = await Promise.all([first, ...tries.map((each) => each.client)].map(closeCodeOf(client)));
    expect(codes.sort()).toEqual([4409, 4409, 4409, undefined]);
    expect((await scrapeOf(server)).value('turngraph_sessions')).toBe(1);
    await client[Symbol.asyncDispose]();
  });

  it('uses a session after it was closed with 4429, without the requests that were too many', async () => {
    const gate = new Gate();
    await using server = await startTestServer({ maxRequests: 3, script: [{ match: 'wait', answer: 'x y', gate }] });
    await using first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agents = [await first.createAgent(chat()), await first.createAgent(chat()), await first.createAgent(chat())];
    const turns = agents.map((agentId) => first.send('sendMessage', { agentId, text: 'wait' }));
    for (let count = 0; count < 5; count++) first.send('exportDialog', { agentId: 1 });
    expect((await first.closed).code).toBe(4429);
    gate.open();
    const { client, requestsReceived } = await resumed(server.url, subprotocol, key, lastSeqOf(first));
    await using second = client;
    expect(requestsReceived).toBe(7);
    for (const turn of turns) await second.finalResponse(turn);
    expect(turns.map((turn) => textOf(turn, first, second))).toEqual(['x y', 'x y', 'x y']);
    expect(await second.request('exportDialog', { agentId: 1 })).toMatchObject({ body: 'exportDialog' });
  });

  it('goes on with a session after 4408 and after 1009', async () => {
    const sendBuffer = { highWaterMark: 100_000, lowWaterMark: 50_000, slowReaderTimeoutMs: 20 };
    await using server = await startTestServer({ ...patient, sendBuffer });
    await using first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agentId = await first.createAgent(flooding(3000));
    const turn = first.send('sendMessage', { agentId, text: 'go' });
    first.socket.pause();
    await untilGauge(server, 'detached_sessions', 1);
    await untilGauge(server, 'turns_running', 0);
    first.socket.resume();
    expect((await first.closed).code).toBe(4408);
    const { client: second } = await resumed(server.url, subprotocol, key, lastSeqOf(first));
    await second.finalResponse(turn);
    expect(textOf(turn, first, second)).toBe(floodText(3000));
    second.socket.send(Buffer.alloc(1024 * 1024 + 1));
    expect((await second.closed).code).toBe(1009);
    const { client: third, requestsReceived } = await resumed(server.url, other, key, lastSeqOf(first, second));
    expect(requestsReceived).toBe(3);
    expect(await third.request('exportDialog', { agentId })).toMatchObject({ body: 'exportDialog' });
    await third[Symbol.asyncDispose]();
  });

  it('gets the end of a download that went on without a connection', async () => {
    await using fixture = await startHubServer();
    fixture.hub.maxBytesSent = 2 ** 16;
    const first = await fixture.connect(subprotocol);
    const key = await keyOf(first);
    const download = first.send('downloadModel', { modelName: 'Tiny' });
    await first.waitFor(({ body }) => body === 'modelProgress');
    first.socket.terminate();
    await untilGauge(fixture.server, 'detached_sessions', 1);
    fixture.hub.maxBytesSent = Infinity;
    const { client } = await resumed(fixture.server.url, subprotocol, key, lastSeqOf(first));
    await using second = client;
    expect(await second.finalResponse(download)).toMatchObject({ body: 'downloadModel' });
    expect(fixture.hub.contentRequests().length).toBe(1);
  });
});

describe.each(subprotocols)('resume over %s is refused', (subprotocol) => {
  const server = useServer({ maxReplayBytes: 300 });

  /** A session that has been detached after `count` answers, and the last seq of its client. */
  async function detachedSession(count = 3): Promise<{ readonly key: SessionKey; readonly lastSeq: number }> {
    const client = await TestClient.connect(server().url, subprotocol);
    for (let index = 1; index < count; index++) await client.request('exportDialog', { agentId: 7 });
    const key = await keyOf(client);
    await client[Symbol.asyncDispose]();
    return { key, lastSeq: lastSeqOf(client) };
  }

  /** Expects an error, and that the new connection has a session of its own that can be used. */
  async function expectRefused(key: SessionKey, lastSeq: number, message: RegExp): Promise<void> {
    const { client, answer } = await resumeOn(server().url, subprotocol, key, lastSeq);
    await using fresh = client;
    expect(errorOf(answer)).toMatchObject({ code: 2003, message: expect.stringMatching(message) as unknown });
    expect(answer.seq).toBe(1);
    const agentId = await fresh.createAgent({ start_node: 'a', nodes: { a: canned } });
    expect((await fresh.sendMessage(agentId, 'hello')).text).toBe('Hi.');
  }

  it('for a session that does not live', async () => {
    await expectRefused({ sessionId: 'x', resumeToken: 'y' }, 1, /^resumeSession.sessionId is no session that lives;/);
  });

  it('when the missed frames are not kept any more', async () => {
    const { key, lastSeq } = await detachedSession(20);
    await expectRefused(key, 1, /^the frames after 1 are not all kept any more/);
    const { client } = await resumed(server().url, subprotocol, key, lastSeq);
    await client[Symbol.asyncDispose]();
  });

  it('for a frame that was never sent', async () => {
    const { key, lastSeq } = await detachedSession();
    await expectRefused(
      key,
      lastSeq + 1,
      new RegExp(`lastSeq is ${lastSeq + 1}, and the last frame sent is ${lastSeq}`),
    );
  });

  it('after another request, for the session of the connection itself, and twice on one connection', async () => {
    const { key, lastSeq } = await detachedSession();
    await using late = await TestClient.connect(server().url, subprotocol);
    expect(errorOf(await late.request('resumeSession', { ...key, lastSeq }))).toMatchObject({
      code: 2003,
      message: expect.stringMatching(/^resumeSession is not the first request/) as unknown,
    });
    await using own = new TestClient(server().url, subprotocol);
    const ownKey = await keyOf(own);
    expect(errorOf(await own.request('resumeSession', { ...ownKey, lastSeq: 0 })).code).toBe(2003);
    expect(errorOf(await own.request('resumeSession', { ...key, lastSeq })).code).toBe(2003);
    const { client } = await resumed(server().url, subprotocol, key, lastSeq);
    await client[Symbol.asyncDispose]();
  });

  it('with a wrong token, which closes the connection but not the session', async () => {
    const { key, lastSeq } = await detachedSession();
    for (const resumeToken of ['', 'x', `${key.resumeToken}x`, key.resumeToken.toUpperCase()]) {
      const { client, answer } = await resumeOn(server().url, subprotocol, { ...key, resumeToken }, lastSeq);
      expect(errorOf(answer)).toMatchObject({ code: 2004, name: 'UNAUTHORIZED' });
      expect(errorOf(answer).message).not.toContain(key.resumeToken);
      expect((await client.closed).code).toBe(4401);
    }
    const { client } = await resumed(server().url, subprotocol, key, lastSeq);
    await client[Symbol.asyncDispose]();
  });

  it('when the server shuts down', async () => {
    const gate = new Gate();
    const closing = await startTestServer({ graceMs: oneDayMs, script: [{ match: 'wait', answer: 'x y', gate }] });
    await using busy = await TestClient.connect(closing.url, subprotocol);
    busy.send('sendMessage', { agentId: await busy.createAgent(chat()), text: 'wait' });
    await busy.waitFor(({ body }) => body === 'answerText');
    await using late = new TestClient(closing.url, subprotocol);
    await late.receive('sessionReady');
    const disposal = closing[Symbol.asyncDispose]();
    const answer = await late.request('resumeSession', { ...(await keyOf(busy)), lastSeq: lastSeqOf(busy) });
    expect(errorOf(answer).code).toBe(2001);
    gate.open();
    await disposal;
    expect((await late.closed).code).toBe(1001);
  });

  it('when the server shuts down, which ends detached sessions at once and waits for the turns of the others', async () => {
    const gates = [new Gate(), new Gate(), new Gate()];
    const [gone = gates[0], leaving, here] = gates;
    const closing = await startTestServer({
      graceMs: oneDayMs,
      script: [
        { match: 'gone', answer: 'x y', gate: gone },
        { match: 'leaving', answer: 'x y', gate: leaving },
        { match: 'here', answer: 'x y', gate: here },
      ],
    });
    const startTurn = async (text: string): Promise<TestClient> => {
      const client = await TestClient.connect(closing.url, subprotocol);
      client.send('sendMessage', { agentId: await client.createAgent(chat()), text });
      await client.waitFor(({ body }) => body === 'answerText');
      return client;
    };
    const clients = await Promise.all(['gone', 'leaving', 'here'].map(startTurn));
    clients[0]?.socket.terminate();
    await untilGauge(closing, 'detached_sessions', 1);
    const disposal = closing[Symbol.asyncDispose]();
    await untilGauge(closing, 'turns_running', 2);
    clients[1]?.socket.terminate();
    await untilGauge(closing, 'turns_running', 1);
    here?.open();
    expect(await clients[2]?.receive('turnComplete')).toMatchObject({ status: 'SUCCESS' });
    await disposal;
  });

  it('without a grace period, where a session ends with its connection', async () => {
    await using strict = await startTestServer({ resumeGrace: 0 });
    await using first = await TestClient.connect(strict.url, subprotocol);
    const key = await keyOf(first);
    await first.createAgent(chat());
    expect(errorOf((await resumeOn(strict.url, subprotocol, key, 2)).answer).code).toBe(2003);
    expect((await scrapeOf(strict)).value('turngraph_replay_bytes')).toBe(0);
    first.socket.terminate();
    await untilGauge(strict, 'agents', 0);
    expect((await scrapeOf(strict)).value('turngraph_detached_sessions')).toBe(0);
  });
});

describe('a detached session', () => {
  it('ends after the grace period, which cancels its turns and frees its agents', async () => {
    const gate = new Gate();
    await using server = await startTestServer({ resumeGrace: 0.1, script: [{ match: 'wait', answer: 'x y', gate }] });
    const client = await TestClient.connect(server.url, 'turngraph.v1.proto');
    const key = await keyOf(client);
    client.send('sendMessage', { agentId: await client.createAgent(chat()), text: 'wait' });
    await client.waitFor(({ body }) => body === 'answerText');
    client.socket.close();
    await untilGauge(server, 'sessions', 0);
    for (const gauge of ['agents', 'turns_running', 'detached_sessions', 'replay_bytes', 'model_uses'])
      await untilGauge(server, gauge, 0);
    const { client: late, answer } = await resumeOn(server.url, 'turngraph.v1.proto', key, lastSeqOf(client));
    expect(errorOf(answer).code).toBe(2003);
    await late[Symbol.asyncDispose]();
  });

  it('is not ended by the grace period of an earlier detachment', async () => {
    await using server = await startTestServer({ resumeGrace: 1000 });
    const clear = vi.spyOn(globalThis, 'clearTimeout');
    const first = await TestClient.connect(server.url, 'turngraph.v1.json');
    const key = await keyOf(first);
    const set = vi.spyOn(globalThis, 'setTimeout');
    first.socket.terminate();
    await untilGauge(server, 'detached_sessions', 1);
    const index = set.mock.calls.findIndex(([, ms]) => ms === 1_000_000);
    const timer: unknown = set.mock.results[index]?.value;
    const { client } = await resumed(server.url, 'turngraph.v1.json', key, lastSeqOf(first));
    expect(index).toBeGreaterThanOrEqual(0);
    expect(clear.mock.calls).toContainEqual([timer]);
    await client[Symbol.asyncDispose]();
  });

  it('ends early when more sessions are detached than connections are allowed, the oldest first', async () => {
    await using server = await startTestServer({ maxConnections: 2 });
    const keys: SessionKey[] = [];
    for (let count = 1; count <= 3; count++) {
      const client = await TestClient.connect(server.url, 'turngraph.v1.json');
      keys.push(await keyOf(client));
      await client[Symbol.asyncDispose]();
      await untilGauge(server, 'connections', 0);
    }
    expect((await scrapeOf(server)).value('turngraph_detached_sessions')).toBe(2);
    const codes: unknown[] = [];
    for (const key of keys) {
      const { client, answer } = await resumeOn(server.url, 'turngraph.v1.json', key, 1);
      codes.push(answer.body === 'error' ? answer.error.code : answer.body);
      client.socket.terminate();
      await untilGauge(server, 'connections', 0);
    }
    // The sessions of the refused connections were not used, and did not replace those that were.
    expect(codes).toEqual([2003, 'resumeSession', 'resumeSession']);
  });

  it('keeps no more bytes than it may, however much its turns write', async () => {
    await using server = await startTestServer({ ...floodOptions(), maxReplayBytes: 100_000 });
    const client = await TestClient.connect(server.url, 'turngraph.v1.proto');
    const agentId = await client.createAgent(flooding(5000));
    client.send('sendMessage', { agentId, text: 'go' });
    await client.waitFor(({ body }) => body === 'answerText');
    client.socket.terminate();
    await untilGauge(server, 'detached_sessions', 1);
    await untilGauge(server, 'turns_running', 0);
    const bytes = (await scrapeOf(server)).value('turngraph_replay_bytes');
    expect(bytes).toBeGreaterThan(90_000);
    expect(bytes).toBeLessThanOrEqual(100_000);
  });

  it('is in the log and in the metrics, without its token', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'debug', base: null, timestamp: false }, { write: (line) => void lines.push(line) });
    await using server = await startTestServer({ log, resumeGrace: 1000 });
    const first = await TestClient.connect(server.url, 'turngraph.v1.json');
    const key = await keyOf(first);
    first.socket.close();
    await untilGauge(server, 'detached_sessions', 1);
    const { client } = await resumed(server.url, 'turngraph.v1.proto', key, lastSeqOf(first));
    const { client: wrong } = await resumeOn(server.url, 'turngraph.v1.json', { ...key, resumeToken: 'x' }, 0);
    await wrong.closed;
    const scraped = await scrapeOf(server);
    expect(scraped.value('turngraph_sessions_resumed_total')).toBe(1);
    expect(scraped.value('turngraph_resumes_refused_total', { reason: 'wrong_token' })).toBe(1);
    expect(scraped.value('turngraph_detached_sessions')).toBe(0);
    client.socket.terminate();
    await untilGauge(server, 'detached_sessions', 1);
    await server[Symbol.asyncDispose]();
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const ofSession = events.filter(({ session }) => session === key.sessionId).map(({ msg, code }) => [msg, code]);
    expect(ofSession).toEqual([
      ['session began', undefined],
      ['session detached', 1005],
      ['session resumed', undefined],
      ['session detached', 1006],
      ['session ended', undefined],
    ]);
    expect(lines.join('')).not.toContain(key.resumeToken);
  });
});

const canned = { type: 'CannedResponse', params: { inline_strings: ['Hi.'] } };
const failed = (): never => {
  throw new Error('no connection has the session');
};
const closeCodeOf =
  (open: TestClient) =>
  async (client: TestClient): Promise<number | undefined> =>
    client === open ? undefined : (await client.closed).code;
