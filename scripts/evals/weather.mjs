// node scripts/evals/weather.mjs [--model NAME] [--catalogue FILE] [--json]: plays the graph `weather` with 20 messages, each
// answered with the result of its call, and prints how many turns are right:
//   call    one call, of get_weather with the city of the message
//   answer  the text contains the result
// It starts a server in this process; default model turngraph-demo. The result is unknown to the model until it is submitted.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from 'turngraph';
import { connect } from 'turngraph/client';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'turngraph-demo' },
    catalogue: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const phrasings = [
  (city) => `What is the weather in ${city}?`,
  (city) => `How is the weather in ${city} today?`,
  (city) => `Tell me the weather in ${city}, please.`,
  (city) => `Is it nice in ${city}?`,
];
const places = [
  ['Paris', '18 degrees'],
  ['Oslo', 'snow'],
  ['Rome', 'sunny'],
  ['Lisbon', 'windy'],
  ['Tokyo', 'light rain'],
];
const items = phrasings.flatMap((phrase) => places.map(([city, content]) => ({ text: phrase(city), city, content })));

const inRepository = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const catalogue = values.catalogue ?? inRepository('models.json');
const server = await startServer({ port: 0, graphs: inRepository('graphs'), catalogue, logLevel: 'warn' });
const client = await connect(server.url);
const rows = [];
for (const item of items) rows.push(await play(item));
await client.close();
await server[Symbol.asyncDispose]();

const count = (name) => rows.filter((row) => row[name]).length;
const share = { model: values.model, turns: rows.length, call: count('call'), answer: count('answer') };
if (values.json) console.log(JSON.stringify({ ...share, rows }, null, 2));
else {
  for (const row of rows)
    console.log(`${row.call ? 'call  ' : '-     '} ${row.answer ? 'answer' : '-     '}  ${row.text}  ->  ${row.said}`);
  console.log(
    `${share.turns} turns: ${share.call} with the right call, ${share.answer} with an answer that has the result`,
  );
}

/** One turn with an agent of its own, so that no turn learns from another. */
async function play({ text, city, content }) {
  const agent = await client.createAgent({ graphName: 'weather', defaultModelName: values.model });
  const calls = [];
  const onCall = (call) => {
    calls.push(call);
    const results = [{ callId: call.callId, ok: true, content, lifespan: 'TURN' }];
    void client.request('submitToolResults', { agentId: agent.id, turnId: call.turnId, results });
  };
  const turn = await agent.send(text, { onCall });
  await agent.destroy();
  const [call] = calls;
  const isRight = calls.length === 1 && call.toolName === 'get_weather' && call.arguments.city === city;
  return { text, said: turn.text, call: isRight, answer: turn.text.toLowerCase().includes(content) };
}
