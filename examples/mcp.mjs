// Tools of an MCP server. Install its SDK (npm install @modelcontextprotocol/sdk zod), start a server (npx turngraph serve), then:
//   node examples/mcp.mjs [ws://127.0.0.1:9100]
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { connect, executor } from 'turngraph/client';

const mcp = new Client({ name: 'example', version: '1.0.0' });
const server = fileURLToPath(new URL('mcp-server.mjs', import.meta.url));
await mcp.connect(new StdioClientTransport({ command: process.execPath, args: [server] }));
const house = await executor.fromMcp(mcp);

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'act',
  nodes: {
    act: {
      type: 'ToolCall',
      params: { tools: house.declarations, await_results: true },
      exits: { tool_called: 'answer', no_tool_called: 'answer' },
    },
    answer: { type: 'Generate', params: { system_prompt: 'Answer in one short sentence. Use the result.' } },
  },
};
const agent = await client.createAgent({ graph });
for (const message of ['Turn on the porch light.', 'Turn on the moon light.', 'Which lights are on?']) {
  const turn = agent.send(message, { tools: executor(house.tools) });
  console.log(`> ${message}`);
  for (const { call, state, result } of await turn.toolsDone)
    console.log(`  ${call.toolName} ${state}: ${result.content}`);
  console.log(`< ${(await turn).text}`);
}
await client.close();
await mcp.close();
