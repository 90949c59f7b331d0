import { describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { connect, type ConnectionChange } from '../../../src/client/index.ts';
import { reconnectDelayMs } from '../../../src/client/reconnect.ts';
import { codecs } from '../../helpers/depth.ts';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';
import { cleanups, createTestAgent, useCleanups } from '../../helpers/fakeServer.ts';
import { connectToFakeSession, FakeSession, type SessionScript } from '../../helpers/fakeSession.ts';

useCleanups();

const acceptAgents: SessionScript = ({ requestId, body }, session) =>
  body === 'createAgent' && session.send(requestId, 'createAgent', { agentId: 5 });

/** Answers all requests but turns, which the test answers. */
const answerAll: SessionScript = (frame, session) => {
  const { requestId, body } = frame;
  if (body === 'sendMessage') return;
  if (body === 'listModels') session.send(requestId, 'listModels');
  else if (body === 'createAgent') acceptAgents(frame, session);
  else session.send(requestId, 'ack');
};

const until = (isTrue: () => boolean): Promise<void> => vi.waitFor(() => expect(isTrue()).toBe(true), 20_000);

const say = (session: FakeSession, requestId: number, text: string): void =>
  session.send(requestId, 'answerText', { agentId: 5, turnId: 1, text, isDelta: true });
const finish = (session: FakeSession, requestId: number): void =>
  session.send(requestId, 'turnComplete', { agentId: 5, turnId: 1, status: 'SUCCESS' });

const states = (changes: readonly ConnectionChange[]): readonly string[] => changes.map(({ state }) => state);

describe.each(codecs)('a client over %s whose connection drops', (codec) => {
  it('resumes its session in mid-answer, and tells the program', async () => {
    const changes: ConnectionChange[] = [];
    const onConnectionChange = (change: ConnectionChange): void => void changes.push(change);
    const { session, client } = await connectToFakeSession(acceptAgents, { codec, onConnectionChange });
    const turn = (await createTestAgent(client)).send('hello');
    const heard: string[] = [];
    await until(() => session.received.length === 2);
    say(session, 2, 'Hel');
    for await (const piece of turn.text) {
      heard.push(piece);
      if (piece !== 'Hel') continue;
      session.isWriting = false;
      say(session, 2, 'lo');
      session.drop();
      await until(() => session.resumes.length === 1);
      say(session, 2, '!');
      finish(session, 2);
    }
    expect(heard).toEqual(['Hel', 'lo', '!']);
    expect((await turn).text).toBe('Hello!');
    expect(session.resumes).toEqual([{ sessionId: 's1', resumeToken: 'key', lastSeq: 2 }]);
    expect(client.session.sessionId).toBe('s1');
    expect(session.received.map(({ body }) => body)).toEqual(['createAgent', 'sendMessage']);
    expect(changes).toEqual([
      {
        state: 'reconnecting',
        attempt: 1,
        delayMs: 0,
        code: 1006,
        reason: 'the connection broke off (1006)',
      },
      { state: 'resumed', attempt: 1, replayed: 1, resent: 0 },
    ]);
  });

  it('drops frames that it has seen already', async () => {
    const { session, client } = await connectToFakeSession(acceptAgents, { codec });
    const turn = (await createTestAgent(client)).send('hello');
    await until(() => session.received.length === 2);
    say(session, 2, 'once');
    for await (const piece of turn.text) if (piece) break;
    session.replayFrom = () => 1;
    session.drop();
    await until(() => session.resumes.length === 1);
    finish(session, 2);
    expect((await turn).text).toBe('once');
  });

  it('ends with a fault when frames are missing', async () => {
    const changes: ConnectionChange[] = [];
    const onConnectionChange = (change: ConnectionChange): void => void changes.push(change);
    const { session, client } = await connectToFakeSession(acceptAgents, { codec, onConnectionChange });
    const turn = (await createTestAgent(client)).send('hello');
    await until(() => session.received.length === 2);
    session.loseFrame();
    say(session, 2, 'lo');
    await expect(turn.done).rejects.toMatchObject({
      code: 1002,
      message:
        'the server broke the protocol: the server sent the frame with seq 3 after 1, so frames are missing; connect again',
      cause: { code: 5001 },
    });
    await client.closed;
    await expect(client.listModels()).rejects.toMatchObject({ code: 1002 });
    expect([states(changes), session.handshakes.length, turn.done]).toMatchObject([['lost'], 1, {}]);
  });

  it('takes no frame of a newer server for a gap', async () => {
    const { session, client } = await connectToFakeSession(acceptAgents, { codec });
    const turn = (await createTestAgent(client)).send('hello');
    await until(() => session.received.length === 2);
    const newer = { proto: new Uint8Array([0x10, 2, 0xa2, 0x38, 0]), json: '{"requestId":0,"seq":2,"forecast":{}}' };
    session.sendData(newer[codec]);
    say(session, 2, 'a');
    finish(session, 2);
    expect((await turn).text).toBe('a');
  });

  it('sends again the requests that the server has not received, byte for byte, and no others', async () => {
    const changes: ConnectionChange[] = [];
    const onConnectionChange = (change: ConnectionChange): void => void changes.push(change);
    const { session, client } = await connectToFakeSession(answerAll, { codec, onConnectionChange });
    const agent = await createTestAgent(client);
    session.isWriting = false;
    const read = client.unloadModel('read');
    await until(() => session.received.length === 2);
    session.isReading = false;
    const unread = [client.unloadModel('a'), agent.clearDialog(), client.unloadModel('ü\n')];
    await until(() => session.arrivedData.length === 5);
    const lost = session.arrivedData.slice(2);
    session.drop();
    await Promise.all([read, ...unread]);
    expect(session.receivedData.slice(2)).toEqual(lost);
    expect(session.received.map(({ requestId }) => requestId)).toEqual([1, 2, 3, 4, 5]);
    expect(changes.at(-1)).toEqual({ state: 'resumed', attempt: 1, replayed: 1, resent: 3 });
  });

  it('sends requests that were made meanwhile after those, in their order', async () => {
    const { session, client } = await connectToFakeSession(answerAll, { codec, reconnect: { firstDelayMs: 50 } });
    await createTestAgent(client);
    session.isReading = false;
    const before = client.unloadModel('a');
    await until(() => session.arrivedData.length === 2);
    session.drop();
    let release = (): void => {};
    session.onConnection = (_, __, greet) => (release = greet);
    await until(() => session.handshakes.length === 2);
    const meanwhile = [client.unloadModel('b'), client.deleteModel('c'), client.unloadModel('d')];
    expect(session.arrivedData).toHaveLength(2);
    release();
    await Promise.all([before, ...meanwhile]);
    expect(session.received.slice(1)).toMatchObject([
      { unloadModel: { modelName: 'a' } },
      { unloadModel: { modelName: 'b' } },
      { deleteModel: { modelName: 'c' } },
      { unloadModel: { modelName: 'd' } },
    ]);
  });

  it('continues when it drops again while frames are sent again, in both directions', async () => {
    const { session, client } = await connectToFakeSession(answerAll, { codec });
    const agent = await createTestAgent(client);
    const turn = agent.send('hello');
    await until(() => session.received.length === 2);
    say(session, 2, 'a');
    for await (const piece of turn.text) if (piece) break;
    session.isWriting = false;
    for (const piece of ['b', 'c', 'd']) say(session, 2, piece);
    session.isReading = false;
    const requests = ['x', 'y', 'z'].map((model) => client.unloadModel(model));
    await until(() => session.arrivedData.length === 5);
    let isFirst = true;
    session.onResume = (_, socket, answer) => {
      if (!isFirst) return answer();
      isFirst = false;
      // Two of the three frames arrive, and one of the three requests.
      const send = socket.send.bind(socket) as (data: string) => void;
      let sent = 0;
      socket.send = (data: string): void => void (sent++ < 3 && send(data));
      answer();
      socket.on('message', () => {
        session.isReading = false;
        if (session.arrivedData.length === 8) socket.terminate();
      });
    };
    session.drop();
    await Promise.all(requests);
    finish(session, 2);
    expect((await turn).text).toBe('abcd');
    expect(session.resumes.map(({ lastSeq }) => lastSeq)).toEqual([2, 4]);
    expect(session.received.slice(2)).toMatchObject(
      ['x', 'y', 'z'].map((modelName) => ({ unloadModel: { modelName } })),
    );
  });

  it('rejects requests that are aborted or time out meanwhile, and does not send those that wait', async () => {
    const { session, client } = await connectToFakeSession(answerAll, { codec });
    await createTestAgent(client);
    session.isReading = false;
    const aborter = new AbortController();
    const { signal } = aborter;
    const sent = client.request('unloadModel', { modelName: 'sent' }, { signal });
    await until(() => session.arrivedData.length === 2);
    let release = (): void => {};
    session.onConnection = (_, __, greet) => (release = greet);
    session.drop();
    await until(() => session.handshakes.length === 2);
    const waiting = client.request('unloadModel', { modelName: 'waits' }, { signal });
    const late = client.request('unloadModel', { modelName: 'late' }, { timeoutMs: 5 });
    const patient = client.request('unloadModel', { modelName: 'patient' }, { timeoutMs: 60_000 });
    const reason = new Error('enough');
    aborter.abort(reason);
    await expect(sent).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(late).rejects.toMatchObject({ code: 1003 });
    release();
    await patient;
    // The first was sent and not received: the server counts it, so it is sent again.
    expect(session.received.slice(1)).toMatchObject([
      { unloadModel: { modelName: 'sent' } },
      { unloadModel: { modelName: 'patient' } },
    ]);
  });

  it('cancels a turn that was cancelled meanwhile', async () => {
    const { session, client } = await connectToFakeSession(
      (frame, fake) => {
        if (frame.body !== 'cancelTurn') return acceptAgents(frame, fake);
        fake.send(frame.requestId, 'ack');
        fake.send(2, 'turnComplete', { agentId: 5, turnId: 1, status: 'CANCELLED' });
      },
      { codec },
    );
    const aborter = new AbortController();
    const turn = (await createTestAgent(client)).send('hello', { signal: aborter.signal });
    await until(() => session.received.length === 2);
    session.onResume = (_, __, answer) => {
      aborter.abort();
      answer();
    };
    session.drop();
    expect((await turn).status).toBe('CANCELLED');
  });

  it('rejects pending requests when the server no longer has the session', async () => {
    const changes: ConnectionChange[] = [];
    const onConnectionChange = (change: ConnectionChange): void => void changes.push(change);
    const { session, client } = await connectToFakeSession(acceptAgents, { codec, onConnectionChange });
    const turn = (await createTestAgent(client)).send('hello');
    await until(() => session.received.length === 2);
    session.onResume = (_, socket) => session.refuse(socket, 3, 'SESSION_NOT_RESUMABLE', 'no session "s1"');
    session.drop();
    const message =
      'the connection broke off (1006), and the server cannot resume the session: no session "s1"; the session and its agents are gone: connect again and create the agents again, from saved dialogs';
    await expect(turn.done).rejects.toMatchObject({ code: 1002, message, cause: { code: 2003 } });
    expect(await client.closed).toEqual({ code: 1006, reason: '' });
    await expect(client.listModels()).rejects.toMatchObject({ code: 1002, message });
    expect(changes.at(-1)).toMatchObject({ state: 'lost', code: 1006, error: { code: 1002, message } });
    expect(session.handshakes).toHaveLength(2);
  });
});

describe('a client that reconnects', () => {
  it.each([1001, 1002, 1009, 4401, 4406, 4409, 4429])('does not after the close code %i', async (code) => {
    const changes: ConnectionChange[] = [];
    const onConnectionChange = (change: ConnectionChange): void => void changes.push(change);
    const { session, client } = await connectToFakeSession(acceptAgents, { onConnectionChange });
    const models = client.listModels();
    await until(() => session.received.length === 1);
    session.drop(code, 'why');
    await expect(models).rejects.toMatchObject({
      code: 1002,
      message: `the connection was closed with ${code} why`,
    });
    expect(await client.closed).toEqual({ code, reason: 'why' });
    expect([changes.length, changes[0]?.state, session.handshakes.length]).toEqual([1, 'lost', 1]);
  });

  it.each([1000, 1011, 1012, 4408])('does after the close code %i', async (code) => {
    const { session, client } = await connectToFakeSession(answerAll);
    await createTestAgent(client);
    session.drop(code);
    await client.listModels();
    expect(session.resumes).toMatchObject([{ lastSeq: 1 }]);
  });

  it('does not with reconnect: false', async () => {
    const changes: ConnectionChange[] = [];
    const onConnectionChange = (change: ConnectionChange): void => void changes.push(change);
    const { session, client } = await connectToFakeSession(acceptAgents, { reconnect: false, onConnectionChange });
    const models = client.listModels();
    await until(() => session.received.length === 1);
    session.drop();
    await expect(models).rejects.toMatchObject({ code: 1002, message: 'the connection broke off (1006)' });
    expect(await client.closed).toEqual({ code: 1006, reason: '' });
    expect([states(changes), session.handshakes.length]).toEqual([['lost'], 1]);
  });

  it('names its first session in the address, and sends the token again', async () => {
    const { session, client } = await connectToFakeSession(answerAll, { token: 'a b' });
    for (let drops = 0; drops < 2; drops++) {
      session.drop();
      await client.listModels();
    }
    const authorization = 'Bearer a b';
    const again = { url: '/?session=s1', authorization };
    expect(session.handshakes).toEqual([{ url: '/', authorization }, again, again]);
    const standard = await connectToFakeSession(answerAll, { token: 'a b', WebSocket });
    standard.session.drop();
    await standard.client.listModels();
    expect(standard.session.handshakes).toEqual([
      { url: '/?token=a+b', authorization: undefined },
      { url: '/?session=s1&token=a+b', authorization: undefined },
    ]);
  });

  it('ends when each of many connections resumes the session and brings nothing new', async () => {
    const { session, client } = await connectToFakeSession(acceptAgents);
    session.onResume = (_, socket, answer) => {
      answer();
      socket.close(1011);
    };
    session.drop();
    await client.closed;
    expect(session.resumes).toHaveLength(12);
    await expect(client.listModels()).rejects.toMatchObject({
      code: 1002,
      message: expect.stringMatching(/^the connection was closed with 1011, as 12 connections before it; /) as string,
    });
  });

  it('gives up an attempt that is not answered, at each step, and makes another', async () => {
    const reasons: string[] = [];
    const { session, client } = await connectToFakeSession(answerAll, {
      reconnect: { firstDelayMs: 0, attemptTimeoutMs: 50 },
      onConnectionChange: (change) => void (change.state === 'reconnecting' && reasons.push(change.reason)),
    });
    session.onConnection = (count, _, greet) => void (count !== 2 && greet());
    session.onResume = (_, __, answer) => void (session.handshakes.length !== 3 && answer());
    session.drop();
    await client.listModels();
    const unanswered = 'the server did not answer within 50 ms';
    // On a slow machine other attempts may be too late as well.
    expect(reasons.slice(0, 3)).toEqual(['the connection broke off (1006)', unanswered, unanswered]);
    expect(session.handshakes.length).toBeGreaterThanOrEqual(4);
  });

  it('gives up an attempt when the server accepts the TCP connection and says nothing', async () => {
    const { session, client, reasons, proxy } = await connectThroughProxy({ attemptTimeoutMs: 50 });
    proxy.isSilent = true;
    proxy.cut();
    await until(() => reasons.length === 2);
    proxy.isSilent = false;
    await client.listModels();
    expect(reasons[1]).toBe('the server did not answer within 50 ms');
    // On a slow machine other attempts may be too late as well.
    expect(session.resumes.length).toBeGreaterThanOrEqual(1);
  });

  it('waits longer each time when the session is resumed and drops again at once, until a new frame comes', async () => {
    const delays: number[] = [];
    const onConnectionChange = (change: ConnectionChange): void =>
      void (change.state === 'reconnecting' && delays.push(change.delayMs));
    const reconnect = { firstDelayMs: 4, maxDelayMs: 1000 };
    const { session, client } = await connectToFakeSession(() => {}, { reconnect, onConnectionChange });
    session.onResume = (_, socket, answer) => {
      answer();
      if (session.resumes.length === 5) session.send(1, 'listModels');
      if (session.resumes.length < 6) socket.terminate();
    };
    const models = client.listModels();
    session.drop();
    await models;
    await until(() => session.resumes.length === 6);
    // Half of each delay is random: 4, 8, 16, 32, 64 ms at most; then 4 again.
    expect(delays.map((delayMs, index) => delayMs >= 2 * 2 ** (index % 5))).toEqual(Array(6).fill(true));
    expect(delays[5]).toBeLessThanOrEqual(4);
  });

  it('makes another attempt when the server has too many connections, or cuts it off', async () => {
    const { session, client } = await connectToFakeSession(answerAll);
    session.onConnection = (count, socket, greet) => {
      if (count === 2) socket.close(4429, 'LIMIT_EXCEEDED');
      else greet();
    };
    session.onResume = (_, socket, answer) => {
      if (session.handshakes.length === 3) socket.terminate();
      else answer();
    };
    session.drop();
    await client.listModels();
    expect(session.handshakes).toHaveLength(4);
  });

  it('makes no other attempt when the server is stopping, or refuses the token of the session', async () => {
    const stopping = await connectToFakeSession(acceptAgents);
    stopping.session.onConnection = (_, socket) => socket.close(1001, 'shutdown');
    stopping.session.drop();
    await expect(stopping.client.listModels()).rejects.toThrow(/^the connection .*, and the server cannot .* 1001/);
    const refused = await connectToFakeSession(acceptAgents);
    refused.session.onResume = (_, socket) => {
      refused.session.refuse(socket, 1, 'UNAUTHORIZED', 'wrong resume token');
      socket.close(4401);
    };
    refused.session.drop();
    await refused.client.closed;
    await expect(refused.client.listModels()).rejects.toThrow(
      /wrong resume token; the session and its agents are gone/,
    );
    expect([stopping.session.handshakes.length, refused.session.handshakes.length]).toEqual([2, 2]);
  });

  it('gives up when the time is over, and says why the last attempt failed', async () => {
    const { client, reasons, proxy } = await connectThroughProxy({ timeLimitMs: 20 });
    const models = client.listModels();
    await proxy.stop();
    await expect(models).rejects.toMatchObject({
      code: 1002,
      message: expect.stringMatching(
        /, and no attempt to reconnect succeeded in 20 ms: no server listens there; is it running\?; the session/,
      ) as string,
    });
    expect(reasons.length).toBeGreaterThan(0);
    expect(await client.closed).toEqual({ code: 1006, reason: '' });
  });

  it('ends at once when the program closes it while it waits, or during an attempt', async () => {
    const waiting = await connectToFakeSession(acceptAgents, { reconnect: { firstDelayMs: 1_000_000 } });
    const changes: string[] = [];
    const during = await connectToFakeSession(acceptAgents, {
      reconnect: { firstDelayMs: 0, attemptTimeoutMs: 1_000_000 },
      onConnectionChange: ({ state }) => void changes.push(state),
    });
    let attempt: WebSocket | undefined;
    during.session.onConnection = (_, socket) => (attempt = socket);
    for (const { session, client } of [waiting, during]) {
      const models = client.listModels();
      await until(() => session.received.length === 1);
      session.drop();
      if (session === during.session) await until(() => session.handshakes.length === 2);
      else await until(() => session.socket?.readyState === WebSocket.CLOSED);
      const closing = client.close();
      const message = 'the connection broke off (1006); the client closed the connection';
      await expect(models).rejects.toMatchObject({ message });
      await closing;
      expect(await client.closed).toMatchObject({ reason: '' });
    }
    await until(() => attempt?.readyState === WebSocket.CLOSED);
    expect(changes).toEqual(['reconnecting']);
    expect([waiting.session.handshakes.length, during.session.handshakes.length]).toEqual([1, 2]);
  });

  it('disposes of its agents without waiting for a connection', async () => {
    const { session, client } = await connectToFakeSession(acceptAgents);
    const agents = await Promise.all([createTestAgent(client), createTestAgent(client)]);
    let release = (): void => {};
    session.onConnection = (_, __, greet) => (release = greet);
    const before = agents[0][Symbol.asyncDispose]();
    await until(() => session.received.length === 3);
    session.drop();
    await before;
    await agents[1][Symbol.asyncDispose]();
    await until(() => session.handshakes.length === 2);
    release();
    await until(() => session.received.length === 4);
    expect(session.received.map(({ body }) => body)).toEqual([
      'createAgent',
      'createAgent',
      'destroyAgent',
      'destroyAgent',
    ]);
  });

  it('can be closed by the callback that tells of the drop', async () => {
    const state: { client?: Awaited<ReturnType<typeof connect>> } = {};
    const { session, client } = await connectToFakeSession(acceptAgents, {
      onConnectionChange: () => void state.client?.close(),
    });
    state.client = client;
    session.drop();
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
    expect(session.handshakes).toHaveLength(1);
  });

  it('logs what the callback throws, and goes on', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    cleanups.push(() => log.mockRestore());
    const { session, client } = await connectToFakeSession(answerAll, {
      onConnectionChange: () => {
        throw new TypeError('no such icon');
      },
    });
    session.drop();
    await client.listModels();
    expect(log).toHaveBeenCalledWith('onConnectionChange threw', expect.any(TypeError));
  });

  it('refuses requests when too many wait for a connection', async () => {
    const { session, client } = await connectToFakeSession(answerAll);
    let release = (): void => {};
    session.onConnection = (_, __, greet) => (release = greet);
    session.drop();
    await until(() => session.handshakes.length === 2);
    const waiting = Array.from({ length: 1000 }, () => client.listModels());
    await expect(client.listModels()).rejects.toMatchObject({
      code: 2005,
      message: expect.stringContaining('not more than 1000 requests or 16777216 bytes wait for it') as string,
    });
    release();
    await Promise.all(waiting);
    expect(session.received).toHaveLength(1000);
  });

  it('gives up when it cannot send again what the server wants', async () => {
    const { session, client } = await connectToFakeSession(acceptAgents);
    await createTestAgent(client);
    session.claimedRequests = 0;
    session.drop();
    await expect(client.listModels()).rejects.toThrow(
      /the server has received 0 requests, and those after them are no longer held; the session and its agents are gone/,
    );
    await client.closed;
  });
});

describe('the delay before an attempt', () => {
  it('doubles up to a maximum, and half of it is random', () => {
    const options = { firstDelayMs: 250, maxDelayMs: 5000 };
    const delays = (random: number) =>
      [1, 2, 3, 5, 6, 2000].map((attempt) => reconnectDelayMs(attempt, options, random));
    expect(delays(1)).toEqual([250, 500, 1000, 4000, 5000, 5000]);
    expect(delays(0)).toEqual([125, 250, 500, 2000, 2500, 2500]);
  });
});

/** A fake session behind a proxy. */
async function connectThroughProxy(options: { readonly attemptTimeoutMs?: number; readonly timeLimitMs?: number }) {
  const session = new FakeSession(answerAll);
  await session.listen();
  const proxy = await TcpProxy.start(session.url);
  cleanups.push(() => proxy.stop());
  const reasons: string[] = [];
  const client = await connect(proxy.url, {
    reconnect: { firstDelayMs: 0, ...options },
    onConnectionChange: (change) => void (change.state === 'reconnecting' && reasons.push(change.reason)),
  });
  cleanups.push(() => client.close());
  return { session, client, reasons, proxy };
}
