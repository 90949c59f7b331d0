// Which way: a Route node decides what a message is about, with the graph `receptionist`. Start a server (npx turngraph serve), then:
//   node examples/receptionist.mjs [ws://127.0.0.1:9100]
import { connect } from 'turngraph/client';

const messages = [
  'Hello, how are you today?',
  'I would like a double room for 3 nights.',
  'The heater in my room does not work.',
  'I am leaving now, the bill please.',
];

/** One line about the label that a message got: its name, and how probable each label was. */
function describeRoute({ label, probabilities }) {
  const shares = Object.entries(probabilities).map(([name, share]) => `${name} ${Math.round(share * 100)} %`);
  return `${label || 'no label'} (${shares.join(', ')})`;
}

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graphName: 'receptionist' });
for (const message of messages) {
  console.log(`> ${message}`);
  const { text } = await agent.send(message, {
    onEvent: ({ eventType, payload }) => eventType === 'route' && console.log(`  ${describeRoute(payload)}`),
    onCall: (call) => console.log(`  ${call.toolName} ${call.typedArgumentsJson}, because of ${call.because}`),
  });
  console.log(`< ${text}`);
}
await client.close();
