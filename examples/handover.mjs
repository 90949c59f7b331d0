// A person takes over a conversation and gives it back. Start a server (npx turngraph serve), then:
//   node examples/handover.mjs [ws://127.0.0.1:9100]
import { connect, defineTool, toolResult } from 'turngraph/client';

const callColleague = defineTool({
  name: 'call_colleague',
  description: 'Call a colleague who talks to the guest.',
  // From the next message on, people answer. The ticket is for programs: no model reads it.
  run: () => toolResult('Ann is on her way.', { control: { mode: 'MANUAL' }, metadata: { ticket: 7 } }),
});
const inline_strings = ['One moment: {{#tool_results}}{{content}}{{/tool_results}}'];
const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'guard',
  nodes: {
    guard: {
      type: 'Guardrail',
      params: { inline_strings: ['\\b(person|human)\\b'] },
      exits: { triggered: 'call', not_triggered: 'talk' },
    },
    call: {
      type: 'ToolCall',
      params: { tools: ['call_colleague'], tool_choice: 'call_colleague', strict: true, await_results: true },
      exits: { tool_called: 'wait' },
    },
    wait: { type: 'CannedResponse', params: { inline_strings } },
    talk: { type: 'Generate', params: { system_prompt: 'You are the receptionist of a hotel. Be brief.' } },
  },
};

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graph, tools: [callColleague] });
async function say(message) {
  const { text, mode, resultMetadata } = await agent.send(message);
  const notes = resultMetadata.map(({ metadata }) => ` ${JSON.stringify(metadata)}`);
  console.log(`> ${message}\n< ${text || '(a person answers)'} [${mode}${notes}]`);
}
for (const message of ['Hello!', 'I want to talk to a person.', 'My key does not fit.']) await say(message);
await agent.appendText('I am Ann. Here is a new key.');
await agent.setAgentMode('AUTO');
await say('Thank you!');
await client.close();
