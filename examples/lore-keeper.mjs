// Entries that fit a question, with the graph `lore-keeper`. Start a server (npx turngraph serve), then:
//   node examples/lore-keeper.mjs [ws://127.0.0.1:9100]
import { connect } from 'turngraph/client';

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
// With diagnostics, an event says which entries were found.
const agent = await client.createAgent({ graphName: 'lore-keeper', enableDiagnostics: true });

async function ask(message) {
  console.log(`> ${message}`);
  for await (const event of agent.turn(message)) {
    if (event.type === 'event' && event.event.eventType === 'retrieved') {
      const { found, hits } = event.event.payload;
      console.log(`  ${found ? hits.map(({ id }) => id).join(', ') : 'nothing that fits'}`);
    }
    if (event.type === 'complete') console.log(`< ${event.summary.text}`);
  }
}

await ask('Who is the mayor of Pellmoor?');
await ask('Where can I find the blaksmith?');
await ask('Who wrote Hamlet?');

// Only entries about places from now on: a filter on their metadata.
await agent.changeParams('lore', { filter: { kind: 'place' } });
await ask('Who is the mayor of Pellmoor?');
await ask('What does a bed at the inn cost?');
await client.close();
