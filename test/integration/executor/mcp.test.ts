import { Client as McpSdkClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executor, type Client } from '../../../src/client/index.ts';
import { codecs, openClient, resultsIn } from '../../helpers/executorGraphs.ts';
import { chatmlCall, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { repositoryPath, useServer } from '../../helpers/server.ts';

const setLight = (name: string): string => chatmlCall('set_light', { name, on: true });
const engine = scriptedEngine([
  { match: 'both', node: 'act', answer: `${setLight('porch')}\n${chatmlCall('list_lights', {})}` },
  { match: 'moon', node: 'act', answer: setLight('moon') },
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
    expect(await agent.send(message, { tools: executor(tools) })).toMatchObject({ text: 'It is on.', warnings: [] });
    expect(resultsIn(engine)).toEqual(results);
  });

  it('can be given to a running agent, under a prefix', async () => {
    await using client: Client = await openClient(server().url, { codec });
    const agent = await client.createAgent({ graph: graphOf([{ name: 'wait', description: 'Wait.' }]) });
    const { declarations } = await executor.fromMcp(mcp, { only: ['set_light'], prefix: 'house_' });
    expect(declarations.map(({ name }) => name)).toEqual(['house_set_light']);
    await expect(agent.changeParams('act', { tools: declarations })).resolves.toBeUndefined();
  });
});
