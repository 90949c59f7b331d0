import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFirstLine, startCli } from '../cli/command.ts';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { chat } from '../helpers/graphs.ts';
import { longestHold } from '../helpers/longestHold.ts';
import { errorOf, oneSubprotocol, repositoryPath, TestClient } from '../helpers/server.ts';

// Each attack held the event loop for the time in its comment. Each takes less than 150 ms now.
const maxHoldMs = 500;

/** What a client does, and what is expected of its answer. What takes this process long is checked by a function returned. */
type Attack = (client: TestClient) => Promise<void | (() => void)>;

const marks = `a${'\u0301\u0323\u0308\u031b'.repeat(30_000)}`;
const members = (count: number, value: unknown): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
const node = (type: string, params: object): object => ({ start_node: 'a', nodes: { a: { type, params } } });

const refuse =
  (code: number, message: string, ...[body, fields]: Parameters<TestClient['request']>): Attack =>
  async (client) => {
    const error = errorOf(await client.request(body, fields));
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) as unknown });
  };
const refuseGraph = (code: number, message: string, graph: object): Attack =>
  refuse(code, message, 'createAgent', { graphJson: JSON.stringify(graph) });
const tooManyValues = 'has more than 32768 values; send less';

const attacks: Readonly<Record<string, Attack>> = {
  // 9,800 ms.
  'a search for a letter with 120,000 marks': async (client) => {
    await client.request('createStringStorage', { name: 'marks', kind: 'LIST', strings: ['Ä door'] });
    expect(await client.request('searchStorage', { name: 'marks', query: marks })).toMatchObject({
      searchStorage: { found: false },
    });
  },
  // 8,200 ms.
  'a message with 120,000 marks for a Retrieve node': async (client) => {
    const agentId = await client.createAgent(node('Retrieve', { inline_strings: ['a door'] }));
    expect(await client.sendMessage(agentId, `${marks} door`)).toMatchObject({ steps: 'a:found' });
  },
  // 1,100 ms for 2,000 of them.
  'a key with 1,200 regular expressions': async (client) => {
    await client.request('createStringStorage', { name: 'keys', kind: 'KNOWLEDGE' });
    const keys = Array.from({ length: 1200 }, () => '/\\w\\w\\w/');
    const entries = [{ id: '', text: 'a door', keys, always: false, metadataJson: '' }];
    expect(await client.request('addKnowledge', { storage: 'keys', entries })).toHaveProperty('addKnowledge');
    expect(await client.request('searchStorage', { name: 'keys', query: 'a door' })).toMatchObject({
      searchStorage: { found: true },
    });
  },
  // 1,500 ms.
  'a graph with 340,000 tools that are lists': refuseGraph(
    2005,
    tooManyValues,
    node('ToolCall', { tools: Array.from({ length: 340_000 }, () => []) }),
  ),
  'a graph with 16,000 tools that are lists': refuseGraph(
    3003,
    'a.params.tools[0] must be a tool',
    node('ToolCall', { tools: Array.from({ length: 16_000 }, () => []) }),
  ),
  // 340 ms.
  'a graph with 30,000 nodes': refuseGraph(2005, tooManyValues, {
    start_node: 'k0',
    nodes: members(30_000, { type: 'Generate' }),
  }),
  // 480 ms.
  'a graph with 40,000 exits': refuseGraph(2005, tooManyValues, {
    start_node: 'a',
    nodes: { a: { type: 'Generate', exits: members(40_000, 'b') } },
  }),
  // 380 ms.
  'parameters with 60,000 biases': async (client) => {
    const paramsJson = JSON.stringify({ sampling: { logit_bias: members(60_000, 1) } });
    const agentId = await client.createAgent(chat());
    await refuse(2005, tooManyValues, 'changeParams', { agentId, nodeName: 'answer', paramsJson })(client);
  },
  // 130 ms.
  'a dialog of 20,000 interactions': refuse(2005, tooManyValues, 'createAgent', {
    graphJson: JSON.stringify(chat()),
    historyJson: JSON.stringify(Array.from({ length: 20_000 }, () => ({ user: 'a', assistant: 'b' }))),
  }),
  // 890 ms for 60 MB.
  'the export of a dialog of 42 MB': async (client) => {
    const agentId = await client.createAgent(chat());
    const text = 'x'.repeat(262_144);
    for (let count = 0; count < 80; count++)
      await client.request('appendDialog', { agentId, user: text, assistant: text });
    const requestId = client.send('exportDialog', { agentId });
    const isLast = (frame: ServerFrame): boolean =>
      frame.body === 'exportDialog' && frame.exportDialog.part === frame.exportDialog.of;
    await client.waitFor((frame) => frame.requestId === requestId && isLast(frame));
    const parts = client.received.flatMap((frame) =>
      frame.body === 'exportDialog' ? [frame.exportDialog.historyJson] : [],
    );
    const turn = { user: text, assistant: text };
    return () => {
      expect(JSON.parse(parts.join(''))).toEqual(Array.from({ length: 80 }, () => turn));
    };
  },
  // 250 ms.
  'a loop of lines with 2,400 sections each': async (client) => {
    const inline_strings = ['{{#user_message}}x{{/user_message}}'.repeat(2400)];
    const line = (next: string): object => ({
      type: 'CannedResponse',
      params: { inline_strings },
      exits: { default: next },
    });
    const graph = { start_node: 'a', nodes: { a: line('b'), b: line('c'), c: line('a') } };
    const agentId = await client.createAgent(graph, { maxStepsPerTurn: 64 });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ error: { code: 4003 } });
  },
  // 1,100 ms for 20,000 of them.
  'a tool with 10,000 required parameters': async (client) => {
    const properties = members(10_000, { type: 'string' });
    const parameters = { type: 'object', properties, required: Object.keys(properties) };
    const tools = [{ name: 'f', description: '', parameters }];
    await client.createAgent(node('ToolCall', { tools, tool_call_format: 'generic' }));
  },
  // 480 ms.
  'a graph with 30,000 unknown parameters': async (client) => {
    const nodes = Object.entries(members(256, { type: 'ToolCall', params: members(120, 1) }));
    const graph = { start_node: 'k0', nodes: Object.fromEntries(nodes) as object };
    await refuseGraph(3003, '; 483 more faults', graph)(client);
  },
  // 6,200 ms.
  'a graph with 400 faults in a node with a name of 800,000 letters': refuseGraph(3003, `${'x'.repeat(599)}…`, {
    start_node: 'a',
    nodes: { ['x'.repeat(800_000)]: { type: 'Generate', params: members(400, 1) } },
  }),
  // 14,700 ms for 50,000 of them.
  'a graph that names 256 of 3,000 storages wrongly': async (client) => {
    const create = (index: number): number =>
      client.send('createStringStorage', { name: `${'lines of the guard '.repeat(2)}${index}`, kind: 'LIST' });
    for (let index = 0; index < 3_000; index += 500) {
      await client.finalResponse(Math.max(...Array.from({ length: 500 }, (_, at) => create(index + at))));
      client.received.length = 0;
    }
    const string_storage = 'lines of the gurd lines of the guard x';
    const nodes = members(256, { type: 'Retrieve', params: { string_storage } });
    await refuseGraph(3010, 'did you mean "lines of', { start_node: 'k0', nodes })(client);
  },
  // 1,200 ms.
  'a template with 4,000 names that no node finds': async (client) => {
    const name = (index: number): string => `${'knowledge'.repeat(4)}${index}`;
    const sources = Array.from({ length: 200 }, (_, index) => [
      `r${index}`,
      { type: 'Retrieve', params: { inline_strings: ['a'], source: name(index) } },
    ]);
    const system_prompt = Array.from({ length: 4000 }, (_, index) => `{{knowledge_${name(index + 900)}}}`).join('');
    const nodes = Object.fromEntries([...sources, ['a', { type: 'Generate', params: { system_prompt } }]]) as object;
    await client.createAgent({ start_node: 'a', nodes });
  },
};

describe('the event loop of a server is not held', () => {
  let child: ChildProcess;
  let port = 0;
  beforeAll(async () => {
    const script = repositoryPath('test/fixtures/emptyMockScript.json');
    const server = startCli([
      'serve',
      '--port',
      '0',
      '--json',
      '--openai',
      '--log-level',
      'error',
      '--mock-script',
      script,
    ]);
    child = server;
    ({ port } = JSON.parse(await readFirstLine(server)) as { readonly port: number });
  });
  afterAll(() => {
    child.kill('SIGTERM');
  });

  it.each(Object.entries(attacks))('by %s', { timeout: 180_000 }, async (_, attack) => {
    let shortest = Infinity;
    // A collection of garbage may hold the loop once, but the attack does so each time.
    for (let left = 3; left > 0 && shortest >= maxHoldMs; left--) {
      await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, oneSubprotocol[0] ?? 'turngraph.v1.json');
      const { longestMs, result: check } = await longestHold(child.pid ?? 0, port, () => attack(client));
      check?.();
      shortest = Math.min(shortest, longestMs);
    }
    expect(shortest).toBeLessThan(maxHoldMs);
  });
});
