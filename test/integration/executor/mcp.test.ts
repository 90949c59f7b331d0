import { Client as McpSdkClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { executor, type Client, type McpClient } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, resultsIn } from '../../helpers/executorGraphs.ts';
import { chatmlCall, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { repositoryPath, useServer } from '../../helpers/server.ts';

const setLight = (name: string): string => chatmlCall('set_light', { name, on: true });
const engine = scriptedEngine([
  { match: 'both', node: 'act', answer: `${setLight('porch')}\n${chatmlCall('list_lights', {})}` },
  { match: 'moon', node: 'act', answer: setLight('moon') },
  { match: 'door', node: 'act', answer: chatmlCall('open_door', { name: 'cellar' }) },
  { match: 'unclear', node: 'act', answer: chatmlCall('set_light', { name: 'porch', on: 'maybe' }) },
  { match: '', node: 'answer', answer: 'It is on.' },
]);
const server = useServer({ engines: { mock: engine } });

// A server of the official SDK, over standard input and output.
const mcp = new McpSdkClient({ name: 'test', version: '1.0.0' });
beforeAll(() =>
  mcp.connect(
    new StdioClientTransport({ command: process.execPath, args: [repositoryPath('examples/mcp-server.mjs')] }),
  ),
);
afterAll(() => mcp.close());

const graphOf = (tools: readonly object[]): object => ({
  start_node: 'act',
  nodes: {
    act: {
      type: 'ToolCall',
      params: { tools, await_results: true, on_incomplete: 'notify' },
      exits: { tool_called: 'answer', no_tool_called: 'answer' },
    },
    answer: { type: 'Generate' },
  },
});

describe.each(codecs)('over %s, the tools of an MCP server', (codec) => {
  it.each([
    [
      'run in a turn, and give their texts and structured content',
      'both',
      ['the porch light is on', '{"lit":["porch"]}'],
    ],
    ['fail with the message of the server', 'moon', ['Error: there is no moon light']],
    [
      'are not called with arguments that do not fit their schema',
      'unclear',
      ['Error: invalid arguments: on: Instance type "string" is invalid. Expected "boolean".'],
    ],
  ])('%s', async (_, message, results) => {
    await using client: Client = await openClient(server().url, { codec });
    const { declarations, tools } = await executor.fromMcp(mcp);
    const agent = await client.createAgent({ graph: graphOf(declarations) });
    // One after the other: the second call of `both` reads what the first one sets.
    const turn = await agent.send(message, { tools: executor(tools, { concurrency: 1 }) });
    expect(turn).toMatchObject({ text: 'It is on.', warnings: [] });
    expect(resultsIn(engine)).toEqual(results);
  });

  it('can be given to a running agent, under a prefix', async () => {
    await using client: Client = await openClient(server().url, { codec });
    const agent = await client.createAgent({ graph: graphOf([{ name: 'wait', description: 'Wait.' }]) });
    const { declarations } = await executor.fromMcp(mcp, { only: ['set_light'], prefix: 'house_' });
    expect(declarations.map(({ name }) => name)).toEqual(['house_set_light']);
    await expect(agent.changeParams('act', { tools: declarations })).resolves.toBeUndefined();
  });

  it('are taken anew when the server says that its list has changed', async () => {
    const house = new McpServer({ name: 'house', version: '1.0.0' });
    const lamp = house.registerTool('set_light', { inputSchema: { name: z.string() } }, () => ({ content: [] }));
    const changes: McpClient[] = [];
    const own: McpSdkClient = new McpSdkClient(
      { name: 'test', version: '1.0.0' },
      { listChanged: { tools: { autoRefresh: false, onChanged: () => void changes.push(own) } } },
    );
    const [forClient, forServer] = InMemoryTransport.createLinkedPair();
    await Promise.all([house.connect(forServer), own.connect(forClient)]);
    onTestFinished(() => own.close());
    await using client: Client = await openClient(server().url, { codec });
    const before = await executor.fromMcp(own);
    const agent = await client.createAgent({ graph: graphOf(before.declarations) });
    house.registerTool('open_door', { inputSchema: { name: z.string() } }, ({ name }) => ({
      content: [{ type: 'text', text: `${name}: open` }],
    }));
    lamp.remove();
    while (changes.length === 0) await new Promise(setImmediate);
    const after = await executor.fromMcp(own);
    expect(after.declarations.map(({ name }) => name)).toEqual(['open_door']);
    await agent.changeParams('act', { tools: after.declarations });
    expect(await agent.send('the door, please', { tools: executor(after.tools) })).toMatchObject({ warnings: [] });
    expect(resultsIn(engine)).toEqual(['cellar: open']);
    // The tool that is gone fails with the message of the server.
    await agent.changeParams('act', { tools: before.declarations });
    await agent.send('both', { tools: executor(before.tools) });
    expect(resultsIn(engine)[0]).toMatch(/^Error: .*set_light/);
  });

  it('are refused by name where a schema cannot be expressed, and the others can be taken', async () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node).optional();
      },
    });
    const house = new McpServer({ name: 'house', version: '1.0.0' });
    house.registerTool('grow_tree', { inputSchema: { root: node } }, () => ({ content: [] }));
    house.registerTool('set_light', { inputSchema: { name: z.string() } }, () => ({ content: [] }));
    const own = new McpSdkClient({ name: 'test', version: '1.0.0' });
    const [forClient, forServer] = InMemoryTransport.createLinkedPair();
    await Promise.all([house.connect(forServer), own.connect(forClient)]);
    onTestFinished(() => own.close());
    await expect(executor.fromMcp(own)).rejects.toMatchObject({
      name: 'MALFORMED_MESSAGE',
      message: expect.stringMatching(/^fromMcp\.grow_tree\.inputSchema\..* contains itself/) as unknown,
    });
    const { declarations } = await executor.fromMcp(own, { only: ['set_light'] });
    expect(declarations.map(({ name }) => name)).toEqual(['set_light']);
    // With strict, a node refuses what a grammar cannot express, by the name of the tool.
    await using client: Client = await openClient(server().url, { codec });
    const unlike = { name: 'pick', description: '', parameters: { type: 'object', properties: { a: { not: {} } } } };
    const refused = client.createAgent({ graph: { start_node: 'act', ...strictGraph([unlike]) } });
    await expect(refused).rejects.toThrow(/the tool "pick" cannot be strict/);
  });
});

const strictGraph = (tools: readonly object[]): object => ({
  nodes: { act: { type: 'ToolCall', params: { tools, strict: true } } },
});
