import { createConnection } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { defineNode } from '../../src/index.ts';
import { ClientSocket } from '../../src/server/socket/connection.ts';
import { chat, lamp, setLight } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, startTestServer, subprotocols } from '../helpers/server.ts';
import { defaultSendBufferLimits } from '../../src/server/sendBuffer.ts';
import { RequestDispatcher } from '../../src/server/session/dispatcher.ts';
import { floodOptions, floodText, flooding } from '../helpers/flood.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs, holdLoads } from '../helpers/heldEngine.ts';

const script = [
  { match: 'slowly', answer: 'one two three four five six seven eight', gate: new Gate() },
  { match: 'before a word', answer: 'late', delay_ms: oneDayMs },
];

/** Fakes timers: they fire only when the test advances the time. */
const holdTimers = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const turnTimeoutSeconds = 3600;
const small = useServer({ script, maxNodes: 2, maxTools: 2, maxRequests: 8, turnTimeout: turnTimeoutSeconds });

describe.each(subprotocols)('over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(small().url, subprotocol);

  it('a graph above the limit of nodes is rejected', async () => {
    await using client = await connect();
    const say = { type: 'CannedResponse', params: { inline_strings: ['x'] } };
    const graph = { start_node: 'a', nodes: { a: say, b: say, c: say } };
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(answer).toMatchObject({ code: 2005, message: 'the graph has 3 nodes, and 2 are allowed' });
  });

  it('a node above the limit of tools is rejected', async () => {
    await using client = await connect();
    const tools = ['a', 'b', 'c'].map((name) => ({ ...setLight, name }));
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(lamp({ tools })) }));
    expect(answer).toMatchObject({ code: 2005, message: 'detect.params.tools has 3 entries, and 2 are allowed' });
  });

  it('a turn above the time limit is ended, and the agent answers the next message', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    holdTimers();
    const requestId = client.send('sendMessage', { agentId, text: 'slowly' });
    await client.waitFor((frame) => frame.requestId === requestId && frame.body === 'answerText');
    vi.advanceTimersByTime(1000 * turnTimeoutSeconds);
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'ERROR', error: { code: 4002, name: 'INFERENCE_TIMEOUT' }, text: 'one ' });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS' });
  });

  it('a client with too many unanswered requests is disconnected', async () => {
    await using client = await connect();
    for (let count = 0; count < 20; count++) client.send('listModels');
    expect(await client.waitFor(({ body }) => body === 'error')).toMatchObject({ error: { code: 2005 } });
    expect((await client.closed).code).toBe(4429);
  });
});

const callTo = (name: string, args: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

describe.each(subprotocols)('over %s, a frame to the client stays under 60 KiB', (subprotocol) => {
  const roomy = useServer({
    script: [
      { match: 'long arguments', answer: callTo('f', `{"x": "${'y'.repeat(24_000)}"}`) },
      { match: 'much wrong', answer: callTo('mark', `{"rows": [${'"a", '.repeat(1500)}"a"]}`) },
    ],
  });
  const connect = (): Promise<TestClient> => TestClient.connect(roomy().url, subprotocol);
  const verbose = { tool_call_format: 'chatml', sampling: { max_tokens: 20_000 } };
  const long = 'ü'.repeat(200_000);
  const frameSizes = (client: TestClient): number[] =>
    client.received.map((frame) => Buffer.byteLength(JSON.stringify(frame)));

  it.each<[string, (client: TestClient) => Promise<unknown>]>([
    [
      'when a graph names a node that it does not have',
      (client) => client.request('createAgent', { graphJson: JSON.stringify({ start_node: long, nodes: {} }) }),
    ],
    [
      'when a graph is full of faults',
      (client) =>
        client.request('createAgent', {
          graphJson: JSON.stringify({
            start_node: 'a',
            nodes: Object.fromEntries(
              Array.from({ length: 200 }, (_, index) => [`${index}${'x'.repeat(500)}`, { type: long.slice(0, 300) }]),
            ),
          }),
        }),
    ],
    ['when a graph name is long', (client) => client.request('createAgent', { graphName: long })],
    ['when a storage name is long', (client) => client.request('createStringStorage', { name: long })],
    ['when a file path is long', (client) => client.request('createStringStorage', { name: 'x', filePath: long })],
    ['when a model name is long', (client) => client.request('loadModel', { modelName: long })],
    ['when an engine name is long', (client) => client.request('configureSession', { engine: long })],
    ['when a page token is long', (client) => client.request('listModels', { pageToken: long })],
    [
      'when a node name is long',
      async (client) =>
        client.request('changeParams', { agentId: await client.createAgent(chat()), nodeName: long, paramsJson: '{}' }),
    ],
    [
      'when templates name unknown variables',
      async (client) =>
        client.sendMessage(
          await client.createAgent(
            chat({
              system_prompt: Array.from({ length: 300 }, (_, index) => `{{${'n'.repeat(200)}${index}}}`).join(''),
            }),
          ),
          'hello',
        ),
    ],
    [
      'when a turn takes many steps',
      async (client) => {
        const say = (next: string) => ({
          type: 'CannedResponse',
          params: { inline_strings: ['x'] },
          exits: { default: next },
        });
        const agentId = await client.createAgent(
          { start_node: 'a', nodes: { a: say('b'), b: say('a') } },
          { maxStepsPerTurn: 3000, enableDiagnostics: true },
        );
        const turn = await client.sendMessage(agentId, 'go');
        expect(turn.warnings).toEqual([
          expect.stringMatching(/^the path has 3000 steps, and the first \d+ are shown$/),
        ]);
      },
    ],
    [
      'when a call has long arguments',
      async (client) => {
        const agentId = await client.createAgent(lamp(verbose), { enableDiagnostics: true });
        const turn = await client.sendMessage(agentId, 'long arguments');
        expect(turn).toMatchObject({ status: 'SUCCESS', steps: 'detect:tool_called', calls: [] });
        expect(turn.warnings[0]).toMatch(/^detect detected a call to f whose arguments do not fit in a frame/);
      },
    ],
    [
      'when a call has many issues',
      async (client) => {
        const rows = { name: 'rows', type: 'array', items: { type: 'integer' } };
        const tools = [{ name: 'mark', description: 'Marks rows.', parameters: [rows] }];
        const turn = await client.sendMessage(await client.createAgent(lamp({ ...verbose, tools })), 'much wrong');
        expect(turn.calls).toMatchObject([{ toolName: 'mark' }]);
        expect(turn.warnings).toEqual([
          expect.stringMatching(
            /^detect reports the first \d+ of 1501 issues of a call to mark; the others do not fit in a frame$/,
          ),
        ]);
      },
    ],
  ])('%s', async (_, act) => {
    await using client = await connect();
    await act(client);
    expect(Math.max(...frameSizes(client))).toBeLessThan(60 * 1024);
  });
});

describe('new connections', () => {
  const busy = useServer({ maxConnectionRate: 3 });

  it('above the rate are closed with an error, and later ones are accepted', async () => {
    // Whole milliseconds: the window of the rate limit ends exactly 1000 ms later.
    const startMs = Math.ceil(performance.now());
    const now = vi.spyOn(performance, 'now').mockReturnValue(startMs);
    const clients = Array.from({ length: 5 }, () => new TestClient(busy().url, 'turngraph.v1.json'));
    const firsts = await Promise.all(clients.map((client) => client.waitFor(() => true)));
    expect(firsts.map(({ body }) => body).sort()).toEqual([
      'error',
      'error',
      'sessionReady',
      'sessionReady',
      'sessionReady',
    ]);
    now.mockReturnValue(startMs + 1000);
    await using late = new TestClient(busy().url, 'turngraph.v1.json');
    expect(await late.receive('sessionReady')).toMatchObject({ protocolVersion: 1 });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  const shortHandshake = useServer({ handshakeTimeout: 0.5 });

  it('that never finish their handshake are closed', async () => {
    const socket = createConnection(shortHandshake().port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\n');
    await new Promise<void>((resolve) => socket.on('close', () => resolve()).resume());
    expect(socket.destroyed).toBe(true);
  });
});

describe('a slow reader', () => {
  let over = (): void => undefined;
  const server = useServer(floodOptions(() => over()));

  /** Returns the maximum of unsent bytes of any connection that sends from now on. */
  function watchUnsent(): () => number {
    const send = vi.spyOn(ClientSocket.prototype, 'send');
    return () => Math.max(0, ...send.mock.contexts.map((peer) => (peer as ClientSocket).bufferedAmount));
  }

  // The codec does not matter to what a socket holds.
  it('pauses only its own agents', async () => {
    const subprotocol = 'turngraph.v1.proto';
    const unsent = watchUnsent();
    await using slow = await TestClient.connect(server().url, subprotocol);
    const agentId = await slow.createAgent(flooding(4096));
    const requestId = slow.send('sendMessage', { agentId, text: 'go' });
    slow.socket.pause();

    const others = await Promise.all(Array.from({ length: 15 }, () => TestClient.connect(server().url, subprotocol)));
    let maxUnsent = 0;
    for (let round = 0; round < 10; round++) {
      const turns = await Promise.all(
        others.map(async (other) => other.sendMessage(await other.createAgent(chat()), `round ${round}`)),
      );
      expect(turns.map(({ text }) => text)).toEqual(others.map(() => `You said: round ${round}`));
      maxUnsent = Math.max(maxUnsent, unsent());
    }
    // The buffers of the operating system fill first, then those of the server.
    while (maxUnsent <= 1024 * 1024) {
      await wait(10);
      maxUnsent = Math.max(maxUnsent, unsent());
    }
    expect(maxUnsent).toBeLessThan(2 * 1024 * 1024);
    slow.socket.resume();
    expect((await slow.turnOf(requestId)).text.length).toBe(4096 * 4096);
    for (const other of others) await other[Symbol.asyncDispose]();
  });

  it('can be cancelled', async () => {
    const unsent = watchUnsent();
    await using slow = await TestClient.connect(server().url, 'turngraph.v1.proto');
    const agentId = await slow.createAgent(flooding(1_000_000));
    const left = new Promise<void>((resolve) => (over = resolve));
    const requestId = slow.send('sendMessage', { agentId, text: 'go' });
    slow.socket.pause();
    while (unsent() <= defaultSendBufferLimits.highWaterMark) await wait(10);
    slow.send('cancelTurn', { agentId });
    await left;
    slow.socket.resume();
    expect(await slow.turnOf(requestId)).toMatchObject({ status: 'CANCELLED' });
  });

  it('that does not read at all is disconnected', async () => {
    const unsent = watchUnsent();
    const sendBuffer = { highWaterMark: 100_000, lowWaterMark: 50_000, slowReaderTimeoutMs: 300 };
    await using impatient = await startTestServer({ ...floodOptions(), sendBuffer });
    await using slow = await TestClient.connect(impatient.url, 'turngraph.v1.proto');
    const agentId = await slow.createAgent(flooding(4096));
    holdTimers();
    slow.send('sendMessage', { agentId, text: 'go' });
    slow.socket.pause();
    while (unsent() <= sendBuffer.highWaterMark) await wait(10);
    vi.advanceTimersByTime(sendBuffer.slowReaderTimeoutMs);
    slow.socket.resume();
    expect((await slow.closed).code).toBe(4408);
  });

  const torrent = defineNode({
    type: 'Torrent',
    summary: 'Sends more than a socket can hold in one text, and then waits to be cancelled.',
    params: { type: 'object', properties: {} },
    exits: ['default'],
    create: async () => ({
      async run(turn) {
        turn.say(floodText(4096), 'delta');
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
        return 'default';
      },
    }),
  });

  it('with unanswered requests does not delay a shutdown', async () => {
    const unsent = watchUnsent();
    const [close, receive] = [
      vi.spyOn(ClientSocket.prototype, 'close'),
      vi.spyOn(RequestDispatcher.prototype, 'receive'),
    ];
    const closing = await startTestServer({
      extension: { nodeTypes: [torrent] },
      sendBuffer: { highWaterMark: 1500, lowWaterMark: 300, slowReaderTimeoutMs: oneDayMs },
      graceMs: 200,
    });
    await using slow = await TestClient.connect(closing.url, 'turngraph.v1.proto');
    const agentId = await slow.createAgent({ start_node: 'torrent', nodes: { torrent: { type: 'Torrent' } } });
    slow.send('sendMessage', { agentId, text: 'go' });
    slow.socket.pause();
    while (unsent() <= 1024 * 1024) await wait(10);
    const before = receive.mock.calls.length;
    for (let count = 0; count < 20; count++) slow.send('exportDialog', { agentId });
    while (receive.mock.calls.length < before + 20) await wait(10);
    const disposal = closing[Symbol.asyncDispose]();
    while (close.mock.calls.length === 0) await wait(10);
    // A disconnected slow reader would receive 4408 first.
    expect(close.mock.calls.map(([code]) => code)).toEqual([1001]);
    slow.socket.terminate();
    await disposal;
  });
});

describe('a server that shuts down', () => {
  const pending = { graphJson: JSON.stringify(chat({ model_name: 'turngraph-demo' })) };
  const cases = subprotocols.flatMap(
    (subprotocol) =>
      [
        { subprotocol, body: 'createAgent', fields: pending, graceMs: 0 },
        { subprotocol, body: 'loadModel', fields: { modelName: 'turngraph-demo' }, graceMs: oneDayMs },
      ] as const,
  );

  it.each(cases)('rejects requests that wait for a model: $body over $subprotocol', async (testCase) => {
    const engines = { 'llama-cpp': holdLoads(llamaEngine(), new Gate()) };
    const server = await startTestServer({ graceMs: testCase.graceMs, engines });
    const client = await TestClient.connect(server.url, testCase.subprotocol, 'llama-cpp');
    const requestId = client.send(testCase.body, testCase.fields);
    await client.waitFor((frame) => frame.requestId === requestId);
    expect(client.received.map(({ body }) => body)).not.toContain(testCase.body);
    const disposal = server[Symbol.asyncDispose]();
    expect(errorOf(await client.finalResponse(requestId))).toMatchObject({
      code: 2001,
      message: 'the server is shutting down; connect again later',
    });
    expect((await client.closed).code).toBe(1001);
    await disposal;
  });

  it('begins no turn, lets running ones end, and closes with 1001', async () => {
    const gate = new Gate();
    const server = await startTestServer({
      script: [{ match: 'slowly', answer: 'one two three', gate }],
      graceMs: oneDayMs,
    });
    await using client = await TestClient.connect(server.url, 'turngraph.v1.json');
    const [one, other] = [await client.createAgent(chat()), await client.createAgent(chat())];
    const slow = client.send('sendMessage', { agentId: one, text: 'slowly' });
    await client.receive('answerText');
    const disposal = server[Symbol.asyncDispose]();
    expect(errorOf(await client.request('sendMessage', { agentId: other, text: 'hello' }))).toMatchObject({
      code: 2001,
    });
    expect(errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) }))).toMatchObject({
      code: 2001,
    });
    gate.open();
    expect(await client.turnOf(slow)).toMatchObject({ status: 'SUCCESS', text: 'one two three' });
    expect((await client.closed).code).toBe(1001);
    await disposal;
  });

  it.each(subprotocols)(
    'cancels turns that run after the grace period, and reports why, over %s',
    async (subprotocol) => {
      const server = await startTestServer({ script, graceMs: 200 });
      await using client = await TestClient.connect(server.url, subprotocol);
      const agentId = await client.createAgent(chat());
      const pending = client.send('sendMessage', { agentId, text: 'before a word' });
      await client.request('listModels');
      const disposal = server[Symbol.asyncDispose]();
      expect(await client.turnOf(pending)).toMatchObject({
        status: 'CANCELLED',
        error: {
          code: 2001,
          name: 'SERVER_SHUTTING_DOWN',
          message: 'the server is shutting down; connect again later',
        },
      });
      expect((await client.closed).code).toBe(1001);
      await disposal;
    },
  );
});
