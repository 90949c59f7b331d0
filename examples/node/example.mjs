// A program with all that a game needs: it sends a graph, streams an answer, runs a tool and gives back its result, cancels an
// answer, and survives a dropped connection. Start a server (npx turngraph serve), then:
//   node examples/node/example.mjs [ws://127.0.0.1:9100]
import { connect, executor } from 'turngraph/client';

const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        await_results: true,
        tools: [
          {
            name: 'get_weather',
            description: 'Get the weather in a city.',
            parameters: [{ name: 'city', type: 'string', description: 'Which city.' }],
          },
        ],
      },
      exits: { tool_called: 'answer', no_tool_called: 'answer' },
    },
    answer: { type: 'Generate', params: { system_prompt: 'Answer in one short sentence. Use the result.' } },
  },
};

// The model only asks for a call; this program runs it. What it returns is the result that the model reads.
const tools = executor({
  get_weather: {
    run({ city }) {
      console.log(`call: get_weather ${city}`);
      return '18 degrees';
    },
  },
});

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100', {
  // The client connects again and resumes its session by itself: the answer goes on where it was.
  onConnectionChange: ({ state }) => console.log(`\nconnection: ${state}`),
});
const agent = await client.createAgent({ graph });

console.log('> What is the weather in Paris?');
const { text } = await agent.send('What is the weather in Paris?', {
  tools,
  onText: (piece) => process.stdout.write(piece),
});
console.log(`\nanswer: ${text}`);

console.log('> Tell me a long story.');
const story = agent.send('Tell me a long story.', { tools });
for await (const piece of story.text) {
  console.log(`${piece}...`);
  // The first words are enough.
  story.cancel();
}
console.log(`story: ${(await story).status}`);
await client.close();
