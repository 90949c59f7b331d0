import { createConnection } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { llamaEngine } from '../../src/engine/llama/engine.ts';
import { defineNode } from '../../src/index.ts';
import { ClientSocket } from '../../src/server/connection.ts';
import { chat, lamp, setLight } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, startTestServer, subprotocols } from '../helpers/server.ts';
import { defaultSendBufferLimits } from '../../src/server/backpressure.ts';
import { RequestDispatcher } from '../../src/session/dispatcher.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs, holdLoads } from '../helpers/heldEngine.ts';

const script = [
  { match: 'slowly', answer: 'one two three four five six seven eight', gate: new Gate() },
  { match: 'before a word', answer: 'late', delay_ms: oneDayMs },
];

/** Timers that fire when the test says so, and as long as the test wants. */
const holdTimers = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Seconds. */
const turnTimeout = 3600;
const small = useServer({ script, maxNodes: 2, maxTools: 2, maxRequests: 8, turnTimeout });

describe.each(subprotocols)('over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(small().url, subprotocol);

  it('a graph above the limit of nodes is refused', async () => {
    await using client = await connect();
    const say = { type: 'CannedResponse', params: { inline_strings: ['x'] } };
    const graph = { start_node: 'a', nodes: { a: say, b: say, c: say } };
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(answer).toMatchObject({ code: 2005, message: 'the graph has 3 nodes, and 2 are allowed' });
  });

  it('a node above the limit of tools is refused', async () => {
    await using client = await connect();
    const tools = ['a', 'b', 'c'].map((name) => ({ ...setLight, name }));
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(lamp({ tools })) }));
    expect(answer).toMatchObject({ code: 2005, message: 'detect.params.tools has 3 entries, and 2 are allowed' });
  });

  it('a turn that takes too long is ended, and the agent answers the next message', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    holdTimers();
    const asked = client.send('sendMessage', { agentId, text: 'slowly' });
    await client.waitFor(({ requestId, body }) => requestId === asked && body === 'answerText');
    vi.advanceTimersByTime(1000 * turnTimeout);
    const turn = await client.turnOf(asked);
    expect(turn).toMatchObject({ status: 'ERROR', error: { code: 4002, name: 'INFERENCE_TIMEOUT' }, text: 'one ' });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS' });
  });

  it('a client that asks and asks without waiting for answers is hung up on', async () => {
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
      'when a graph names what it does not have',
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
      'when templates name what nobody has',
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
      'when much is wrong with a call',
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
  ])('%s', async (_, asks) => {
    await using client = await connect();
    await asks(client);
    expect(Math.max(...frameSizes(client))).toBeLessThan(60 * 1024);
  });
});

describe('new connections', () => {
  const busy = useServer({ maxConnectionRate: 3 });

  it('above the rate are turned out with a reason, and later ones are welcome', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const clients = Array.from({ length: 5 }, () => new TestClient(busy().url, 'turngraph.v1.json'));
    const firsts = await Promise.all(clients.map((client) => client.waitFor(() => true)));
    expect(firsts.map(({ body }) => body).sort()).toEqual([
      'error',
      'error',
      'sessionReady',
      'sessionReady',
      'sessionReady',
    ]);
    now.mockReturnValue(performance.now() + 1000);
    await using late = new TestClient(busy().url, 'turngraph.v1.json');
    expect(await late.receive('sessionReady')).toMatchObject({ protocolVersion: 1 });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  const impatient = useServer({ handshakeTimeout: 0.5 });

  it('that never finish their handshake are dropped', async () => {
    const socket = createConnection(impatient().port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\n');
    await new Promise<void>((resolve) => socket.on('close', () => resolve()).resume());
    expect(socket.destroyed).toBe(true);
  });
});

describe('a slow reader', () => {
  const chunk = 'x'.repeat(4096);
  let over = (): void => undefined;
  const flood = defineNode({
    type: 'Flood',
    summary: 'Says more than a socket can hold.',
    params: { type: 'object', properties: { chunks: { type: 'integer', default: 1 } } },
    exits: ['default'],
    create: async ({ chunks }) => ({
      async run(turn) {
        for (let count = 0; count < chunks && !turn.signal.aborted; count++) {
          await turn.backpressure();
          turn.say(chunk, 'delta');
        }
        over();
        return 'default';
      },
    }),
  });
  const flooding = (chunks: number) => ({
    start_node: 'flood',
    nodes: { flood: { type: 'Flood', params: { chunks } } },
  });
  const server = useServer({
    extension: { nodeTypes: [flood] },
    sendBuffer: { ...defaultSendBufferLimits, slowReaderTimeoutMs: oneDayMs },
  });

  /** The most bytes that the server has for a client, from here on. */
  function watchUnsent(): () => number {
    const send = vi.spyOn(ClientSocket.prototype, 'send');
    return () => Math.max(0, ...send.mock.contexts.map((peer) => (peer as ClientSocket).bufferedAmount));
  }

  it.each(subprotocols)('pauses its own agents, and fifteen others do not notice, over %s', async (subprotocol) => {
    const unsent = watchUnsent();
    await using slow = await TestClient.connect(server().url, subprotocol);
    const agentId = await slow.createAgent(flooding(4096));
    const told = slow.send('sendMessage', { agentId, text: 'go' });
    slow.socket.pause();

    const others = await Promise.all(Array.from({ length: 15 }, () => TestClient.connect(server().url, subprotocol)));
    let most = 0;
    for (let round = 0; round < 10; round++) {
      const turns = await Promise.all(
        others.map(async (other) => other.sendMessage(await other.createAgent(chat()), `round ${round}`)),
      );
      expect(turns.map(({ text }) => text)).toEqual(others.map(() => `You said: round ${round}`));
      most = Math.max(most, unsent());
    }
    // The buffers of the system fill first, then ours.
    while (most <= 1024 * 1024) {
      await wait(10);
      most = Math.max(most, unsent());
    }
    expect(most).toBeLessThan(2 * 1024 * 1024);
    slow.socket.resume();
    expect((await slow.turnOf(told)).text.length).toBe(4096 * 4096);
    for (const other of others) await other[Symbol.asyncDispose]();
  });

  it('can be cancelled', async () => {
    const unsent = watchUnsent();
    await using slow = await TestClient.connect(server().url, 'turngraph.v1.proto');
    const agentId = await slow.createAgent(flooding(1_000_000));
    const left = new Promise<void>((resolve) => (over = resolve));
    const told = slow.send('sendMessage', { agentId, text: 'go' });
    slow.socket.pause();
    while (unsent() <= defaultSendBufferLimits.highWaterMark) await wait(10);
    slow.send('cancelTurn', { agentId });
    await left;
    slow.socket.resume();
    expect(await slow.turnOf(told)).toMatchObject({ status: 'CANCELLED' });
  });

  it('that is stuck is given up', async () => {
    const unsent = watchUnsent();
    const sendBuffer = { highWaterMark: 100_000, lowWaterMark: 50_000, slowReaderTimeoutMs: 300 };
    await using hasty = await startTestServer({ extension: { nodeTypes: [flood] }, sendBuffer });
    await using slow = await TestClient.connect(hasty.url, 'turngraph.v1.proto');
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
    summary: 'Says at once more than a socket can hold, and then waits to be cancelled.',
    params: { type: 'object', properties: {} },
    exits: ['default'],
    create: async () => ({
      async run(turn) {
        turn.say(chunk.repeat(4096), 'delta');
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
        return 'default';
      },
    }),
  });

  it('that has asked for more is not waited for when the server shuts down', async () => {
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
    const gone = closing[Symbol.asyncDispose]();
    while (close.mock.calls.length === 0) await wait(10);
    // Given up for being stuck it would hear 4408 first.
    expect(close.mock.calls.map(([code]) => code)).toEqual([1001]);
    slow.socket.terminate();
    await gone;
  });
});

describe('a server that shuts down', () => {
  const waiting = { graphJson: JSON.stringify(chat({ model_name: 'turngraph-demo' })) };
  const cases = subprotocols.flatMap(
    (subprotocol) =>
      [
        { subprotocol, body: 'createAgent', fields: waiting, graceMs: 0 },
        { subprotocol, body: 'loadModel', fields: { modelName: 'turngraph-demo' }, graceMs: oneDayMs },
      ] as const,
  );

  it.each(cases)('tells who waits for a model that it does: $body over $subprotocol', async (given) => {
    const engines = { 'llama-cpp': holdLoads(llamaEngine(), new Gate()) };
    const server = await startTestServer({ graceMs: given.graceMs, engines });
    const client = await TestClient.connect(server.url, given.subprotocol, 'llama-cpp');
    const asked = client.send(given.body, given.fields);
    await client.waitFor(({ requestId }) => requestId === asked);
    expect(client.received.map(({ body }) => body)).not.toContain(given.body);
    const gone = server[Symbol.asyncDispose]();
    expect(errorOf(await client.finalResponse(asked))).toMatchObject({
      code: 2001,
      message: 'the server is shutting down; connect again later',
    });
    expect((await client.closed).code).toBe(1001);
    await gone;
  });

  it('begins no turn, lets live ones end, and then says goodbye', async () => {
    const gate = new Gate();
    const server = await startTestServer({
      script: [{ match: 'slowly', answer: 'one two three', gate }],
      graceMs: oneDayMs,
    });
    await using client = await TestClient.connect(server.url, 'turngraph.v1.json');
    const [one, other] = [await client.createAgent(chat()), await client.createAgent(chat())];
    const slow = client.send('sendMessage', { agentId: one, text: 'slowly' });
    await client.receive('answerText');
    const down = server[Symbol.asyncDispose]();
    expect(errorOf(await client.request('sendMessage', { agentId: other, text: 'hello' }))).toMatchObject({
      code: 2001,
    });
    expect(errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) }))).toMatchObject({
      code: 2001,
    });
    gate.open();
    expect(await client.turnOf(slow)).toMatchObject({ status: 'SUCCESS', text: 'one two three' });
    expect((await client.closed).code).toBe(1001);
    await down;
  });

  it('cancels what has not ended after its grace, and the client hears of it', async () => {
    const server = await startTestServer({ script, graceMs: 200 });
    await using client = await TestClient.connect(server.url, 'turngraph.v1.json');
    const agentId = await client.createAgent(chat());
    const waiting = client.send('sendMessage', { agentId, text: 'before a word' });
    await client.request('listModels');
    const down = server[Symbol.asyncDispose]();
    expect(await client.turnOf(waiting)).toMatchObject({ status: 'CANCELLED' });
    expect((await client.closed).code).toBe(1001);
    await down;
  });
});
