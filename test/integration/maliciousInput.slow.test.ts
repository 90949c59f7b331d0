import { createConnection, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { chat, guarded, lamp, type GraphDocument } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, startTestServer, subprotocols } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';

/** A gate in the yield points of long work: a test can hold the work there until it opens the gate. */
const gate = vi.hoisted(() => {
  let isHeld = false;
  let reach = (): void => undefined;
  let open = (): void => undefined;
  let opened = Promise.resolve();
  return {
    /** Closes the gate. Resolves when work waits at it. */
    hold(): Promise<void> {
      isHeld = true;
      opened = new Promise((resolve) => (open = resolve));
      return new Promise((resolve) => (reach = resolve));
    },
    open(): void {
      isHeld = false;
      open();
    },
    /** How often work has reached a yield point. */
    passes: 0,
    async pass(): Promise<void> {
      this.passes++;
      if (!isHeld) return;
      reach();
      await opened;
    },
  };
});
vi.mock(import('../../src/base/eventLoop.ts'), async (original) => {
  const eventLoop = await original();
  return {
    ...eventLoop,
    createYielder: (longestMs) => {
      const yieldToEventLoop = eventLoop.createYielder(longestMs);
      // The walk of a turn yields, too: another client's turn goes on while the work of a node is held.
      if (new Error().stack?.split('\n')[2]?.includes('/walk.ts')) return yieldToEventLoop;
      return async () => {
        await gate.pass();
        await yieldToEventLoop();
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

const cannedGraph = (...lines: string[]): GraphDocument => ({
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
  ])('gives templates no access to built-in prototypes: %s', async (line) => {
    await using client = await connect();
    expect(await client.sendMessage(await client.createAgent(cannedGraph(line)), 'hello')).toMatchObject({
      status: 'SUCCESS',
      text: '',
    });
    expect(Object.keys(Object.prototype)).toEqual([]);
    await using other = await connect();
    expect(await other.sendMessage(await other.createAgent(guarded(['x'])), 'hello')).toMatchObject({
      text: 'You said: hello',
    });
  });

  it('answers other clients while a turn loops', async () => {
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

  it('yields again and again while one pattern matches a message, however short that pattern is', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(guarded(['\\p{L}{1,900}1']));
    const letters = Array.from({ length: 3000 }, (_, index) => String.fromCharCode(97 + ((index * index * 31) % 26)));
    const passes = gate.passes;
    expect(await client.sendMessage(agentId, letters.join(''))).toMatchObject({
      steps: expect.stringContaining('guard:not_triggered') as unknown,
    });
    expect(gate.passes - passes).toBeGreaterThan(100);
  });

  it('answers other clients while hundreds of patterns match a long message, and can cancel that', async () => {
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
    ['a tag that never ends', cannedGraph(`{{a${' '.repeat(300_000)}`)],
    [
      'very long names that differ',
      { start_node: 'm'.repeat(300_000), nodes: { ['n'.repeat(300_000)]: { type: 'CannedResponse' } } },
    ],
    [
      'quotes in a name, and many unknown exits',
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
      'many invalid tools',
      lamp({ tools: Array.from({ length: 5_000 }, () => ({ name: 'f', description: '', parameters: 5 })) }),
    ],
    [
      'an invalid schema',
      lamp({
        tool_call_format: 'generic',
        tools: [{ name: 'f', description: '', parameters: { type: 'object', properties: { a: null } } }],
      }),
    ],
  ])('rejects %s with an error under 60 KiB', async (_, graph) => {
    await using client = await connect();
    const answer = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(answer.code).toBe(3003);
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(60 * 1024);
  });

  it.each<[string, (client: TestClient) => Promise<number>, string, Record<string, string>]>([
    ['too long', (client) => client.createAgent(cannedGraph('{{v}}'.repeat(100))), 'hello', { v: 'x'.repeat(100_000) }],
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
  ])('ends a turn whose template result is %s', async (_, createAgent, text, variables) => {
    await using client = await connect();
    expect(await client.sendMessage(await createAgent(client), text, variables)).toMatchObject({
      status: 'ERROR',
      error: { code: 2005 },
    });
  });

  it('rejects variables above the limit of a message', async () => {
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

  it('stops the work of a client that has disconnected', async () => {
    const own = await startTestServer({
      graceMs: oneDayMs,
      resumeGrace: 0,
      script: [{ match: 'before a word', answer: 'late', delay_ms: oneDayMs }],
    });
    const client = await TestClient.connect(own.url, subprotocol);
    for (let count = 0; count < 60; count++)
      client.send('createAgent', { graphJson: JSON.stringify(guarded([`p${count}`])) });
    client.send('sendMessage', { agentId: 60, text: 'before a word' });
    await client.waitFor(({ body }) => body === 'createAgent');
    client.socket.close();
    await client.closed;
    // This does not wait for the grace period of a day.
    await own[Symbol.asyncDispose]();
  });

  it('handles requests while it prefills an agent', async () => {
    await using client = await connect();
    const busy = await client.createAgent(chat());
    const slow = client.send('sendMessage', { agentId: busy, text: 'slowly' });
    client.send('createAgent', { graphJson: JSON.stringify(chat()), warmUp: true });
    expect(await client.request('cancelTurn', { agentId: busy })).toMatchObject({ body: 'ack' });
    expect(await client.turnOf(slow)).toMatchObject({ status: 'CANCELLED' });
  });

  it('leaves a model unpinned when unloadModel follows loadModel', async () => {
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

describe('sockets that the client does not close', () => {
  const open: Socket[] = [];
  afterAll(() => open.forEach((socket) => socket.destroy()));

  /** Does a handshake on a raw socket, which sends nothing afterwards. */
  function openRawSocket(port: number, host: string): Promise<Socket> {
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

  const untilDestroyed = async (socket: Socket): Promise<void> => {
    // A write fails when the other side has destroyed the socket.
    while (!socket.destroyed) {
      socket.write('x');
      await wait(50);
    }
  };

  it('are destroyed when they are rejected', async () => {
    const socket = await openRawSocket(server().port, 'evil.example');
    await untilDestroyed(socket);
    expect(socket.destroyed).toBe(true);
  });

  it('are destroyed when there are too many', async () => {
    await using full = await startTestServer({ maxConnections: 1 });
    await using client = await TestClient.connect(full.url, 'turngraph.v1.json');
    await untilDestroyed(await openRawSocket(full.port, 'localhost'));
    expect(await client.request('listModels')).toMatchObject({ body: 'listModels' });
  });

  it('do not delay a shutdown', async () => {
    const own = await startTestServer({});
    const socket = await openRawSocket(own.port, 'localhost');
    await own[Symbol.asyncDispose]();
    await untilDestroyed(socket);
    expect(socket.destroyed).toBe(true);
  });
});
