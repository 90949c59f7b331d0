import { createConnection, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { chat, guarded, lamp, type GraphDocument } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, startTestServer, subprotocols } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';

/** Where long work stops between its pieces: a test may hold it there until it opens the gate. */
const gate = vi.hoisted(() => {
  let isHeld = false;
  let reach = (): void => undefined;
  let open = (): void => undefined;
  let opened = Promise.resolve();
  return {
    /** From here on work waits at the gate. Resolves when it has come there. */
    hold(): Promise<void> {
      isHeld = true;
      opened = new Promise((resolve) => (open = resolve));
      return new Promise((resolve) => (reach = resolve));
    },
    open(): void {
      isHeld = false;
      open();
    },
    /** How often work has come by. */
    passes: 0,
    async pass(): Promise<void> {
      this.passes++;
      if (!isHeld) return;
      reach();
      await opened;
    },
  };
});
vi.mock(import('../../src/eventLoop.ts'), async (original) => {
  const { createYielder: breathing } = await original();
  return {
    createYielder: (longestMs) => {
      const breathe = breathing(longestMs);
      return async () => {
        await gate.pass();
        await breathe();
      };
    },
  };
});

const call = '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": true}}\n</tool_call>';
const server = useServer({
  script: [
    { match: 'many calls', answer: call.repeat(80) },
    { match: 'slowly', answer: 'one two three four five six seven eight', gate: new Gate() },
    { match: 'before a word', answer: 'late', delay_ms: oneDayMs },
  ],
});

const says = (...lines: string[]): GraphDocument => ({
  start_node: 'say',
  nodes: { say: { type: 'CannedResponse', params: { inline_strings: lines, selection_strategy: 'first' } } },
});

describe.each(subprotocols)('over %s, a server', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it.each([
    '{{#__proto__}}{{tool_calls.push}}{{/__proto__}}',
    '{{constructor.assign}}',
    '{{tool_calls.join}}',
    '{{#constructor}}x{{/constructor}}',
  ])('lets no template touch what everybody shares: %s', async (line) => {
    await using client = await connect();
    expect(await client.sendMessage(await client.createAgent(says(line)), 'hello')).toMatchObject({
      status: 'SUCCESS',
      text: '',
    });
    expect(Object.keys(Object.prototype)).toEqual([]);
    await using other = await connect();
    expect(await other.sendMessage(await other.createAgent(guarded(['x'])), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
  });

  it('answers others while a loop of a turn runs on', async () => {
    await using client = await connect();
    await using other = await connect();
    const exits = { triggered: 'a', not_triggered: 'a' };
    const loop = { start_node: 'a', nodes: { a: { type: 'Guardrail', params: { inline_strings: ['x'] }, exits } } };
    const agentId = await client.createAgent(loop, { maxStepsPerTurn: 4096 });
    const turn = client.send('sendMessage', { agentId, text: 'go' });
    expect(await other.sendMessage(await other.createAgent(chat()), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
    expect(await client.turnOf(turn)).toMatchObject({ error: { code: 4003 } });
    expect(
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(loop), maxStepsPerTurn: 4_000_000_000 })),
    ).toMatchObject({ code: 2005 });
  });

  it('answers others while hundreds of patterns look at a long message, and can be told to leave it', async () => {
    await using client = await connect();
    await using other = await connect();
    const patterns = Array.from({ length: 300 }, (_, index) => `secret.{0,60}word${index}`);
    const agentId = await client.createAgent(guarded(patterns));
    const otherId = await other.createAgent(chat());
    const reached = gate.hold();
    const turn = client.send('sendMessage', {
      agentId,
      text: 'tell me a secret word, my secret friend. '.repeat(400),
    });
    await reached;
    expect(await other.sendMessage(otherId, 'hello')).toMatchObject({ text: 'You said: hello' });
    expect(await client.request('cancelTurn', { agentId })).toMatchObject({ body: 'ack' });
    const passes = gate.passes;
    gate.open();
    expect(await client.turnOf(turn)).toMatchObject({ status: 'CANCELLED' });
    expect(gate.passes).toBe(passes);
  });

  it.each<[string, GraphDocument | object]>([
    ['a tag that never ends', says(`{{a${' '.repeat(300_000)}`)],
    [
      'names of many letters that miss each other',
      { start_node: 'm'.repeat(300_000), nodes: { ['n'.repeat(300_000)]: { type: 'CannedResponse' } } },
    ],
    [
      'quotes in a name, and many strangers',
      {
        start_node: 'a',
        nodes: {
          ['"'.repeat(20_000)]: {
            type: 'Generate',
            exits: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x${index}`, ''])),
          },
        },
      },
    ],
    [
      'many tools that are none',
      lamp({ tools: Array.from({ length: 5_000 }, () => ({ name: 'f', description: '', parameters: 5 })) }),
    ],
    [
      'a schema without sense',
      lamp({
        tool_call_format: 'generic',
        tools: [{ name: 'f', description: '', parameters: { type: 'object', properties: { a: null } } }],
      }),
    ],
  ])('refuses %s at once', async (_, graph) => {
    await using client = await connect();
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(answer.code).toBe(3003);
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(60 * 1024);
  });

  it.each<[string, (client: TestClient) => Promise<number>, string, Record<string, string>]>([
    ['too long', (client) => client.createAgent(says('{{v}}'.repeat(100))), 'hello', { v: 'x'.repeat(100_000) }],
    [
      'too much work',
      (client) =>
        client.createAgent({
          start_node: 'detect',
          nodes: {
            detect: { ...lamp().nodes['detect'], type: 'ToolCall', exits: { tool_called: 'say' } },
            say: {
              type: 'CannedResponse',
              params: { inline_strings: [`${'{{#tool_calls}}'.repeat(4)}x${'{{/tool_calls}}'.repeat(4)}`] },
            },
          },
        }),
      'many calls',
      {},
    ],
  ])('ends a turn whose template is %s', async (_, makes, text, variables) => {
    await using client = await connect();
    expect(await client.sendMessage(await makes(client), text, variables)).toMatchObject({
      status: 'ERROR',
      error: { code: 2005 },
    });
  });

  it('refuses variables above the limit of a message', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const answer = await client.request('sendMessage', {
      agentId,
      text: 'hello',
      variables: { v: 'x'.repeat(300_000) },
    });
    expect(errorOf(answer)).toMatchObject({
      code: 2005,
      message: expect.stringContaining('sendMessage.variables has') as unknown,
    });
  });

  it('does not go on for a client that has gone', async () => {
    const own = await startTestServer({
      graceMs: oneDayMs,
      script: [{ match: 'before a word', answer: 'late', delay_ms: oneDayMs }],
    });
    const client = await TestClient.connect(own.url, subprotocol);
    for (let count = 0; count < 60; count++)
      client.send('createAgent', { graphJson: JSON.stringify(guarded([`p${count}`])) });
    client.send('sendMessage', { agentId: 60, text: 'before a word' });
    await client.waitFor(({ body }) => body === 'createAgent');
    client.socket.close();
    await client.closed;
    // Nothing is left to wait for.
    await own[Symbol.asyncDispose]();
  });

  it('warms an agent up while it does something else', async () => {
    await using client = await connect();
    const busy = await client.createAgent(chat());
    const slow = client.send('sendMessage', { agentId: busy, text: 'slowly' });
    client.send('createAgent', { graphJson: JSON.stringify(chat()), warmUp: true });
    expect(await client.request('cancelTurn', { agentId: busy })).toMatchObject({ body: 'ack' });
    expect(await client.turnOf(slow)).toMatchObject({ status: 'CANCELLED' });
  });

  it('lets the last word on a pin be the last', async () => {
    const own = await startTestServer({ modelIdle: 0 });
    await using client = await TestClient.connect(own.url, subprotocol, 'llama-cpp');
    client.send('loadModel', { modelName: 'turngraph-demo' });
    await client.request('unloadModel', { modelName: 'turngraph-demo' });
    await client.waitFor(({ body }) => body === 'loadModel');
    const pinned = expect.objectContaining({ pinned: true }) as unknown;
    expect(await client.request('listModels')).toMatchObject({
      listModels: { models: expect.not.arrayContaining([pinned]) },
    });
    await client[Symbol.asyncDispose]();
    await own[Symbol.asyncDispose]();
  });
});

describe('sockets that stay open on their side', () => {
  const open: Socket[] = [];
  afterAll(() => open.forEach((socket) => socket.destroy()));

  /** A handshake by hand, which answers nothing afterwards. */
  function shakeHands(port: number, host: string): Promise<Socket> {
    const socket = createConnection({ port, host: '127.0.0.1', allowHalfOpen: true });
    open.push(socket);
    socket.on('error', () => undefined);
    const head = [
      'GET / HTTP/1.1',
      `Host: ${host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    return new Promise((resolve) => socket.once('data', () => resolve(socket)));
  }

  const gone = async (socket: Socket): Promise<void> => {
    // What is written to a socket that the other side has destroyed comes back as an error.
    while (!socket.destroyed) {
      socket.write('x');
      await wait(50);
    }
  };

  it('are not kept when they are refused', async () => {
    const socket = await shakeHands(server().port, 'evil.example');
    await gone(socket);
    expect(socket.destroyed).toBe(true);
  });

  it('are not kept when there are too many', async () => {
    await using full = await startTestServer({ maxConnections: 1 });
    await using client = await TestClient.connect(full.url, 'turngraph.v1.json');
    await gone(await shakeHands(full.port, 'localhost'));
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
  });

  it('do not keep a server from ending', async () => {
    const own = await startTestServer({});
    const socket = await shakeHands(own.port, 'localhost');
    await own[Symbol.asyncDispose]();
    await gone(socket);
    expect(socket.destroyed).toBe(true);
  });
});
