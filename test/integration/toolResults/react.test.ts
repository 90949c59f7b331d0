import { describe, expect, it } from 'vitest';
import { lastPrompt, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const act = (name: string, args: object): string =>
  `Thought: I need it.\nAction: ${name}\nAction Input: ${JSON.stringify(args)}`;
const paris = act('get_weather', { city: 'Paris' });
const engine = scriptedEngine([
  { match: 'unknown', nth: 1, answer: act('get_tide', { city: 'Oslo' }) },
  { match: 'unknown', nth: 2, answer: paris },
  { match: 'stubborn', answer: act('get_tide', { city: 'Oslo' }) },
  { match: 'undecided', nth: 1, answer: 'Thought: I wonder.' },
  { match: 'undecided', nth: 2, answer: 'Thought: It is a greeting.\nFinal Answer: Hello!' },
  { match: 'garbled', answer: 'Action: get_weather\nAction Input: {"city" Paris}\nFinal Answer: It is fine.' },
  { match: 'Paris', nth: 1, answer: `${paris}\nObservation: 40 degrees\nFinal Answer: It is hot.` },
  { match: 'Paris', nth: 2, answer: 'Thought: I know now.\nFinal Answer: It is 18 degrees.' },
  { match: 'invents', answer: `${paris} Observation: 40 degrees\nFinal Answer: It is hot.` },
  { match: 'both', nth: 1, answer: `${paris}\n${act('find_person', { who: 'Ann' })}` },
  { match: 'both', nth: 2, answer: 'Final Answer: Ann is out, in the sun.' },
  { match: 'plain', answer: 'Hello!' },
  { match: 'no tools', answer: 'Hello without tools!' },
]);
const server = useServer({ engines: { mock: engine } });
const graphOf = (params: object = {}) => {
  const common = { tool_call_format: 'react', generate_on_no_tool: true, await_results: false, ...params };
  const { start_node, nodes } = weather(common, { loops: true });
  return { start_node, nodes: { ...nodes, detect: { ...nodes.detect, exits: { tool_called: 'detect' } } } };
};

describe.each(subprotocols)('over %s, react', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  async function talk(message: string, params: object = {}) {
    await using client = await connect();
    const agentId = await client.createAgent(graphOf({ max_rounds: 1, ...params }));
    const { events, ...turn } = await client.sendMessage(agentId, message);
    return { ...turn, events: events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson)]) };
  }

  it('asks again after an unknown tool, with its name and those of the tools', async () => {
    const { calls, events } = await talk('unknown');
    const reason = 'there is no tool "get_tide", but get_weather, find_person';
    expect(calls).toMatchObject([{ toolName: 'get_weather', argumentsJson: '{"city": "Paris"}', issues: [] }]);
    expect(events).toEqual([['tool_retry', { reason, attempt: 1 }]]);
    expect(lastPrompt(engine).at(-1)).toContain(reason);
  });

  it('leaves the unknown tool to the client when the model insists on it, and when nothing is asked again', async () => {
    for (const params of [{}, { retries: 0 }]) {
      const { calls, events } = await talk('stubborn', params);
      expect(calls).toMatchObject([{ toolName: 'get_tide', known: false }]);
      expect(events.length).toBe('retries' in params ? 0 : 1);
    }
  });

  it('asks again after a thought without a decision, and takes the answer', async () => {
    const { text, calls, events } = await talk('undecided');
    expect({ text, calls }).toEqual({ text: 'Hello!', calls: [] });
    expect(events).toMatchObject([
      ['call_unread', { text: 'Thought: I wonder.' }],
      ['tool_retry', { reason: expect.stringContaining('no Final Answer') as unknown }],
    ]);
  });

  it('puts nothing of a call that cannot be read into the answer or the dialog', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graphOf({ retries: 0 }));
    const turn = await client.sendMessage(agentId, 'garbled');
    expect(turn).toMatchObject({ text: 'It is fine.', calls: [], warnings: [expect.stringContaining('malformed')] });
    await client.sendMessage(agentId, 'plain');
    expect(lastPrompt(engine)).toEqual(['user: garbled', 'assistant: It is fine.', 'user: plain']);
  });

  it('feeds results back as observations until there is a final answer', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graphOf({ await_results: true }));
    const requestId = client.send('sendMessage', { agentId, text: 'Paris' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: '18 degrees' })] });
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ text: 'It is 18 degrees.', warnings: [], events: [] });
    expect(turn.calls).toMatchObject([{ toolName: 'get_weather', awaitsResult: true, repaired: false }]);
    expect(lastPrompt(engine)).toEqual([
      'user: Paris',
      'assistant: Action: get_weather\nAction Input: {"city": "Paris"}',
      'user: Observation: 18 degrees',
    ]);
    expect(engine.prompts.at(-1)?.tools?.text).toContain('Action Input: its arguments as a JSON object');
  });

  it('writes the results of several calls, each as an observation', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graphOf({ await_results: true }));
    const requestId = client.send('sendMessage', { agentId, text: 'both' });
    const calls = await notifications(client, requestId, 2);
    const results = calls.map((call) => result({ ...call, ok: call.toolName !== 'find_person', content: 'out' }));
    await client.request('submitToolResults', { agentId, results });
    expect(await client.turnOf(requestId)).toMatchObject({ text: 'Ann is out, in the sun.' });
    expect(lastPrompt(engine).slice(-2)).toEqual(['user: Observation: out', 'user: Observation: Error: out']);
  });

  it('takes no answer that rests on an invented result, and says so', async () => {
    const { text, calls, warnings, events } = await talk('invents');
    expect({ text, calls: calls.length }).toEqual({ text: '', calls: 1 });
    expect(warnings.join('\n')).toContain('a result that it made up');
    expect(events).toMatchObject([['call_unread', { text: 'Observation: 40 degrees\nFinal Answer: It is hot.' }]]);
  });

  it('has the thought of a call in the diagnostics only', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graphOf({ max_rounds: 1 }), { enableDiagnostics: true });
    const { calls, debugInfo } = await client.sendMessage(agentId, 'stubborn');
    expect(JSON.stringify(calls)).not.toContain('I need it');
    expect(JSON.parse(debugInfo)).toMatchObject({ calls: [{ thought: 'I need it.' }] });
  });

  it('takes a text without keywords as it stands, and shows no tools where tool_choice is none', async () => {
    expect(await talk('plain')).toMatchObject({ text: 'Hello!', warnings: [] });
    expect(await talk('no tools', { tool_choice: 'none' })).toMatchObject({ text: 'Hello without tools!' });
    expect(lastPrompt(engine)).toEqual(['user: no tools']);
  });
});
