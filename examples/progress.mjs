// A tool that takes long says what it does, with the graph `weather`. Start a server (npx turngraph serve), then:
//   node examples/progress.mjs [ws://127.0.0.1:9100]
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'turngraph/client';

const tools = {
  async get_weather({ city }, { agent, signal, call }) {
    // Each line is in the dialog, before the answer, and the running turn shows it.
    for (const step of [`Calling the station of ${city} ...`, 'Nobody answers, I try again ...']) {
      await agent.appendText(step, { notify: true });
      await sleep(50, undefined, { signal });
    }
    // Ends the turn with this answer, without the model.
    if (city === 'Atlantis') call.stop('There is no station any more.');
    return '18 degrees';
  },
};

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graphName: 'weather' });
for (const message of ['What is the weather in Paris?', 'What is the weather in Atlantis?']) {
  console.log(`> ${message}`);
  const turn = await agent.send(message, {
    tools,
    onText: (piece, { source }) => source === 'client' && console.log(`  ${piece}`),
  });
  console.log(`< ${turn.text}`);
}
await client.close();
