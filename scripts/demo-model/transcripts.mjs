// node scripts/demo-model/transcripts.mjs [--model FILE]: prints ten conversations with the demo model as Markdown.
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { withClient } from './evalServer.mjs';

const { values } = parseArgs({ options: { model: { type: 'string', default: 'models/turngraph-demo.gguf' } } });
const conversations = JSON.parse(await readFile(new URL('heldout/conversations.json', import.meta.url), 'utf8'));

await withClient(values.model, async (client) => {
  for (const [index, { title, graph, messages }] of conversations.entries()) {
    const where = typeof graph === 'string' ? `graphs/${graph}.json` : 'a graph of its own';
    console.log(`### ${index + 1}. ${title} (${where})\n`);
    const agent = await client.createAgent(typeof graph === 'string' ? { graphName: graph } : { graph });
    for (const message of messages) {
      const { text, calls } = await agent.send(message).done;
      const called = calls.map(({ toolName, argumentsJson }) => `\`${toolName} ${argumentsJson}\``);
      console.log(`- **you** ${message}\n  **it** ${[...called, text].filter((part) => part !== '').join(' ')}`);
    }
    await agent.destroy();
    console.log('');
  }
});
