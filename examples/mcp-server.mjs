// A server of the Model Context Protocol with two tools, which examples/mcp.mjs starts. It speaks over standard input and output:
//   node examples/mcp-server.mjs
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const lamps = new Map([['porch', false]]);
const server = new McpServer({ name: 'house', version: '1.0.0' });
const text = (value) => ({ content: [{ type: 'text', text: value }] });

server.registerTool(
  'set_light',
  { description: 'Turn a named light on or off.', inputSchema: { name: z.string(), on: z.boolean() } },
  ({ name, on }) => {
    if (!lamps.has(name)) return { ...text(`there is no ${name} light`), isError: true };
    lamps.set(name, on);
    return text(`the ${name} light is ${on ? 'on' : 'off'}`);
  },
);
server.registerTool(
  'list_lights',
  { description: 'List the lights.', outputSchema: { lit: z.array(z.string()) } },
  () => ({
    content: [],
    structuredContent: { lit: [...lamps].flatMap(([name, on]) => (on ? [name] : [])) },
  }),
);
await server.connect(new StdioServerTransport());
