import { describe, expect, it, vi } from 'vitest';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';
import { WebSocket } from 'ws';
import { FrameSequence } from '../../../src/client/connection.ts';
import { connect } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import {
  acceptAgents,
  cleanups,
  connectToFakeServer,
  createTestAgent,
  sendGreeting,
  type SendFrame,
  startFakeServer,
  useCleanups,
} from '../../helpers/fakeServer.ts';

/** Like the WebSocket of Node 22 when no server listens: an error, no close, and it stays in the state CONNECTING. */
class UnreachableSocket {
  binaryType = '';
  readonly readyState = 0;
  addEventListener(type: string, listen: (event: never) => void): void {
    const tell = listen as (event: { readonly message: string }) => void;
    if (type === 'error') setImmediate(() => tell({ message: 'Received network error' }));
  }
  send(): void {}
  close(): void {}
}

useCleanups();

describe('connecting', () => {
  it('fails with CONNECTION_FAILED when no server listens', async () => {
    await expect(connect('ws://127.0.0.1:1/?token=secret')).rejects.toMatchObject({
      code: 1001,
      message: expect.stringMatching(/^cannot connect to ws:\/\/127\.0\.0\.1:1\/: no server listens there/) as string,
    });
    await expect(connect('nonsense')).rejects.toMatchObject({ code: 1001 });
  });

  it('fails with an error that is short where nothing catches it, with one cause and without the frames of ws', async () => {
    const error: unknown = await connect('ws://127.0.0.1:1').catch((thrown: unknown) => thrown);
    const lines = inspect(error).split('\n');
    const cause = lines.slice(lines.findIndex((line) => line.includes('[cause]')));
    expect(cause.map((line) => line.trim())).toEqual([
      '[cause]: [ChannelEnded [Error]: the connection broke off (1006): connect ECONNREFUSED 127.0.0.1:1] {',
      'code: 1006',
      '}',
      '}',
    ]);
  });

  it('fails alike at a host with two addresses, for which Node has an error without a message', async () => {
    class TwoAddresses extends UnreachableSocket {
      override addEventListener(type: string, listen: (event: never) => void): void {
        const tell = listen as (event: { readonly message: string; readonly error: Error }) => void;
        const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
        if (type === 'error') setImmediate(() => tell({ message: '', error }));
      }
    }
    const connecting = connect('ws://localhost:1', { WebSocket: TwoAddresses, timeoutMs: 200 });
    await expect(connecting).rejects.toThrow('cannot connect to ws://localhost:1: no server listens there');
  });

  it('fails at once when a WebSocket class reports an error and no close, as that of Node 22 does', async () => {
    const connecting = connect('ws://127.0.0.1:1', { WebSocket: UnreachableSocket, timeoutMs: 200 });
    await expect(connecting).rejects.toThrow(/^cannot connect to ws:\/\/127\.0\.0\.1:1: .*received network error$/i);
  });

  it('uses ws on Node, also where the platform has a WebSocket class of its own', async () => {
    const { url, handshakes } = await startFakeServer();
    vi.stubGlobal('WebSocket', UnreachableSocket);
    cleanups.push(() => vi.unstubAllGlobals());
    await using client = await connect(url, { token: 'a b', timeoutMs: 1000 });
    expect([client.session.sessionId, handshakes]).toEqual(['s1', [{ url: '/', authorization: 'Bearer a b' }]]);
  });

  it('sends a token with any letters as UTF-8', async () => {
    const { url, handshakes } = await startFakeServer();
    await using _ = await connect(url, { token: '🗝 é', timeoutMs: 1000 });
    const authorization = `Bearer ${Buffer.from('🗝 é').toString('latin1')}`;
    expect(handshakes).toEqual([{ url: '/', authorization }]);
  });

  it('fails with the HTTP status of the server', async () => {
    const server = createServer().on('upgrade', (_, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    await expect(connect(`ws://127.0.0.1:${port}`)).rejects.toThrow(/401/);
  });

  it('fails with the error that the server sends instead of sessionReady', async () => {
    const { url } = await startFakeServer(undefined, (send, socket) => {
      send('error', { code: 5004, name: 'PROTOCOL_VERSION_MISMATCH', message: 'speak turngraph.v1.json' });
      socket.close(4406);
    });
    await expect(connect(url)).rejects.toThrow(/closed with 4406: speak turngraph\.v1\.json$/);
  });

  it('fails with the reason of its signal', async () => {
    const aborter = new AbortController();
    const reason = new Error('enough');
    const { url } = await startFakeServer(undefined, () => aborter.abort(reason));
    await expect(connect(url, { signal: aborter.signal })).rejects.toBe(reason);
  });

  it('sends the token as a header, or in the URL for a WebSocket class without headers', async () => {
    const { url, handshakes } = await startFakeServer();
    await using one = await connect(url, { token: 'a b' });
    await using two = await connect(url, { token: 'a b', WebSocket });
    expect([one.session, two.session]).toHaveLength(2);
    expect(handshakes).toEqual([
      { url: '/', authorization: 'Bearer a b' },
      { url: '/?token=a+b', authorization: undefined },
    ]);
  });
});

describe.each(codecs)('a connection over %s', (codec) => {
  it('rejects pending and later requests when it drops', async () => {
    const { client } = await connectToFakeServer(
      (frame, send, socket) => (frame.body === 'sendMessage' ? socket.terminate() : acceptAgents(frame, send, socket)),
      { codec, reconnect: false },
    );
    const agent = await createTestAgent(client);
    const models = client.listModels();
    const turn = agent.send('hello');
    await expect(models).rejects.toMatchObject({ code: 1002, message: 'the connection broke off (1006)' });
    await expect(turn.done).rejects.toMatchObject({ name: 'CONNECTION_DROPPED' });
    await expect(agent.send('again').done).rejects.toMatchObject({ code: 1002 });
    expect(await client.closed).toEqual({ code: 1006, reason: '' });
    await agent[Symbol.asyncDispose]();
  });

  it('rejects requests at once after the close frame of a server that then hangs', async () => {
    let socketOfServer: WebSocket | undefined;
    const server = await startFakeServer(undefined, (send, socket) => {
      sendGreeting(send);
      socketOfServer = socket;
    });
    const sockets: WebSocket[] = [];
    class RecordedSocket extends WebSocket {
      constructor(url: string, subprotocol: string) {
        super(url, subprotocol);
        sockets.push(this);
      }
    }
    const client = await connect(server.url, { codec, reconnect: false, WebSocket: RecordedSocket });
    const closed = vi.fn();
    void client.closed.then(closed);
    socketOfServer?.close(1001, 'shutdown');
    socketOfServer?.pause();
    while (sockets[0]?.readyState === WebSocket.OPEN) await new Promise((resolve) => setImmediate(resolve));
    await expect(client.listModels()).rejects.toMatchObject({ code: 1002, message: 'the connection is closing' });
    expect([sockets[0]?.readyState, closed.mock.calls, server.received]).toEqual([WebSocket.CLOSING, [], []]);
  });

  it('ends 3 s after close() when the server does not answer, whatever its WebSocket class does', async () => {
    class HangingSocket extends WebSocket {
      override close(): void {}
    }
    const { client } = await connectToFakeServer(acceptAgents, { codec, WebSocket: HangingSocket });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    cleanups.push(() => vi.useRealTimers());
    const closing = client.close();
    vi.advanceTimersByTime(3000);
    await closing;
    expect(await client.closed).toEqual({ code: 1006, reason: '' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects requests after close() at once', async () => {
    const { client } = await connectToFakeServer(acceptAgents, { codec });
    const agent = await createTestAgent(client);
    const closing = client.close();
    const outcomes = [agent.send('hi').done, agent.exportDialog(), client.listModels()];
    for (const outcome of outcomes) {
      await expect(outcome).rejects.toMatchObject({ code: 1002, message: 'the client closed the connection' });
    }
    await closing;
    await expect(agent.send('hi').done).rejects.toMatchObject({ code: 1002 });
  });

  it('destroys its agents when it is closed, without waiting', async () => {
    let agentId = 0;
    const creations: (() => void)[] = [];
    const { client, received } = await connectToFakeServer(
      (frame, send) => {
        if (frame.body === 'createAgent') creations.push(() => send('createAgent', { agentId: ++agentId }));
        if (frame.body === 'createAgent' && frame.createAgent.graphName !== 'slow') creations.shift()?.();
        if (frame.body === 'listModels') send('listModels');
        if (frame.body === 'destroyAgent' && frame.destroyAgent.agentId === 2) send('ack');
      },
      { codec },
    );
    const aborter = new AbortController();
    for (const name of ['one', 'two', 'three']) await client.createAgent({ graphName: name });
    await client.request('destroyAgent', { agentId: 2 });
    const slow = client.createAgent({ graphName: 'slow', signal: aborter.signal });
    await client.listModels();
    aborter.abort();
    await expect(slow).rejects.toThrow();
    creations.shift()?.();
    await client.listModels();
    await client.close();
    expect(await client.closed).toMatchObject({ code: 1000 });
    expect(received.flatMap((frame) => (frame.body === 'destroyAgent' ? [frame.destroyAgent.agentId] : []))).toEqual([
      2, 1, 3, 4,
    ]);
    await client.close();
    expect(received).toHaveLength(10);
  });

  it('reports why the server closed it', async () => {
    const onUnsolicited = vi.fn();
    let closeByServer = (): void => undefined;
    const server = await startFakeServer(
      () => closeByServer(),
      (send, socket) => {
        sendGreeting(send);
        closeByServer = () => {
          send('error', { code: 2001, name: 'SERVER_SHUTTING_DOWN', message: 'the server stops' });
          socket.close(1001, 'shutdown');
        };
      },
    );
    const client = await connect(server.url, { codec, onUnsolicited });
    await expect(client.listModels()).rejects.toMatchObject({
      message: 'the connection was closed with 1001 shutdown: the server stops',
      cause: { code: 2001 },
    });
    expect(onUnsolicited).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ body: 'error' }));
    expect(await client.closed).toEqual({ code: 1001, reason: 'shutdown' });
  });

  it('rejects a request after its timeout, or when its signal is aborted', async () => {
    const { client } = await connectToFakeServer(() => {}, { codec });
    await expect(client.request('listModels', {}, { timeoutMs: 10 })).rejects.toMatchObject({ code: 1003 });
    await expect(client.loadModel('a', { signal: AbortSignal.timeout(10) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it('counts no time for a turn while the program pauses the session, and cancels a turn that is idle', async () => {
    const limits = { idleTimeoutMs: 100 };
    const { client, received } = await connectToFakeServer(
      (frame, send, socket) => (frame.body === 'setPace' ? send('ack') : acceptAgents(frame, send, socket)),
      { codec, limits },
    );
    const agent = await createTestAgent(client);
    await client.setPace({ paused: true });
    const turn = agent.send('hello');
    expect(await Promise.race([turn.catch(() => 'failed'), wait(500)])).toBeUndefined();
    await client.setPace({});
    await expect(turn).rejects.toMatchObject({
      code: 1003,
      message: expect.stringContaining('idleTimeoutMs') as string,
    });
    await vi.waitFor(() => expect(received.map(({ body }) => body)).toContain('cancelTurn'));
  });

  it('closes when a frame is too large, also with a WebSocket class of the program', async () => {
    const script = (_: unknown, send: SendFrame): void => send('createAgent', { warnings: ['x'.repeat(2000)] });
    for (const options of [{}, { WebSocket }]) {
      const { client } = await connectToFakeServer(script, { codec, limits: { maxFrameBytes: 1000 }, ...options });
      await expect(createTestAgent(client)).rejects.toMatchObject({
        code: 1002,
        message: expect.stringContaining('more than 1000 bytes; see limits.maxFrameBytes') as string,
      });
      await client.closed;
    }
  });

  it('closes when a frame of the server cannot be decoded', async () => {
    const { client } = await connectToFakeServer((_, __, socket) => socket.send('{"requestId":'), { codec });
    await expect(client.listModels()).rejects.toMatchObject({ code: 1002, cause: { code: 5001 } });
    await client.closed;
  });
});

describe('the sequence numbers of a session', () => {
  it('accept each frame once, and those with 0 always', () => {
    const sequence = new FrameSequence();
    expect([0, 1, 2, 2, 1, 0, 3].map((seq) => sequence.accept(seq))).toEqual([
      true,
      true,
      true,
      false,
      false,
      true,
      true,
    ]);
    expect(sequence.last).toBe(3);
  });

  it('refuse a gap, and keep their place', () => {
    const sequence = new FrameSequence();
    sequence.accept(1);
    expect(() => sequence.accept(3)).toThrow(
      expect.objectContaining({
        code: 5001,
        message: 'the server sent the frame with seq 3 after 1, so frames are missing; connect again',
      }) as Error,
    );
    expect([sequence.last, sequence.accept(2)]).toEqual([1, true]);
  });

  it('allow a gap of as many frames as could not be read', () => {
    const sequence = new FrameSequence();
    sequence.skipUnknown();
    sequence.skipUnknown();
    expect(sequence.accept(3)).toBe(true);
    expect(() => sequence.accept(5)).toThrow(/missing/);
    sequence.skipUnknown();
    sequence.restart();
    expect(() => sequence.accept(5)).toThrow(/missing/);
  });
});
