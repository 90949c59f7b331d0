// The life cycle of a tool call in one turn, with the graph `weather`. Start a server (npx turngraph serve), then:
//   node examples/weather.mjs [ws://127.0.0.1:9100]
import { connect, executor } from 'turngraph/client';

const reports = { paris: '18 degrees', oslo: 'snow', rome: 'sunny' };

// The model only asks for a call; this program decides what it does.
const tools = executor({
  get_weather: {
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run({ city }) {
      const report = reports[city.toLowerCase()];
      if (report === undefined) throw new Error(`no weather station in ${city}`);
      return report;
    },
  },
});

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graphName: 'weather' });
for (const message of ['What is the weather in Paris?', 'What is the weather in Atlantis?']) {
  console.log(`> ${message}`);
  for await (const event of agent.turn(message, { tools })) {
    if (event.type === 'tool' && event.state !== 'started')
      console.log(`  ${event.call.toolName} ${event.state}: ${event.result.content}`);
    if (event.type === 'complete') console.log(`< ${event.summary.text}`);
  }
}
await client.close();
