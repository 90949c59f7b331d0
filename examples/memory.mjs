// A character that remembers what the player tells it. Start a server (npx turngraph serve), then:
//   node examples/memory.mjs [ws://127.0.0.1:9100]
import { connect } from 'turngraph/client';

const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'recall',
  nodes: {
    recall: {
      type: 'Retrieve',
      params: { string_storage: 'memories' },
      exits: { found: 'talk', not_found: 'talk' },
    },
    talk: {
      type: 'Generate',
      params: {
        system_prompt: 'You are the keeper of a tavern. Be brief.',
        template: '{{#knowledge_recall}}You remember: {{text}}\n{{/knowledge_recall}}',
      },
      exits: { default: 'memory' },
    },
    // This program asks at once, so its turns wait for the memory. Without a priority, it works after the turn.
    memory: { type: 'Remember', params: { string_storage: 'memories', priority: 'NORMAL' } },
  },
};

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
await client.request('createStringStorage', { name: 'memories', kind: 'KNOWLEDGE' });
const agent = await client.createAgent({ graph });
const notes = ['remembered', 'forgotten'];
for (const message of ['My sister Ada lives in Kiel.', 'Now Ada lives in Riga.', 'Where does my sister Ada live?']) {
  const { text, events } = await agent.send(message);
  console.log(`> ${message}\n< ${text}`);
  for (const { eventType, payload } of events)
    if (notes.includes(eventType)) console.log(`  ${eventType}: ${payload.texts.join(' ')}`);
}
await client.close();
