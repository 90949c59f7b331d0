import { describe, expect, it } from 'vitest';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const paris = chatmlCall('get_weather', { city: 'Paris' });
const cut = '<tool_call>\n{"name": "get_weather", "arguments": {"ci';
const engine = scriptedEngine([
  { match: 'late', node: 'detect', nth: 1, answer: cut },
  { match: 'late', node: 'detect', nth: 2, answer: chatmlCall('get_weather', {}) },
  { match: 'late', node: 'detect', nth: 3, answer: paris },
  { match: 'cut off', node: 'detect', answer: `Let me see. ${cut}` },
  { match: 'incomplete', node: 'detect', answer: chatmlCall('get_weather', {}) },
  { match: 'thoughtful', node: 'detect', answer: chatmlCall('get_weather', { thought: 'They ask.', city: 'Paris' }) },
  {
    match: 'at the front',
    node: 'detect',
    answer: `<tool_call>{"thought": "Hm.", ${JSON.stringify({ name: 'get_weather', arguments: { city: 'Oslo' } }).slice(1)}</tool_call>`,
  },
  { match: 'which', node: 'detect', nth: 1, answer: chatmlCall('get_weather', {}) },
  { match: 'which', node: 'detect', nth: 2, answer: 'Which city?' },
  { match: 'endless', node: 'detect', answer: chatmlCall('get_weather', { city: 'x'.repeat(22_000) }) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine }, turnTimeout: 1 });
const talking = (params: object = {}) => weather({ await_results: false, generate_on_no_tool: true, ...params });

describe.each(subprotocols)('over %s, a call with a mistake', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const eventsOf = ({ events }: Awaited<ReturnType<TestClient['sendMessage']>>) =>
    events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown]);

  it('that was cut off is no answer and not in the dialog: an event has its text, a warning the fix', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(talking());
    const turn = await client.sendMessage(agentId, 'cut off');
    expect(turn).toMatchObject({ calls: [], steps: 'detect:no_tool_called answer:default' });
    expect(turn.text).toBe('Let me see.It is fine.');
    expect(eventsOf(turn)).toEqual([['call_unread', { text: cut, reason: expect.any(String) as unknown }]]);
    expect(turn.warnings).toEqual([
      expect.stringMatching(/detect wrote a call that could not be used.*(retries|max_tokens)/),
    ]);
    await client.sendMessage(agentId, 'Thanks.');
    expect(lastPrompt(engine).join('\n')).not.toContain('tool_call');
  });

  it('is no answer either where tool_choice is none', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(talking({ tool_choice: 'none' }));
    const turn = await client.sendMessage(agentId, 'cut off');
    expect(turn.text).toBe('Let me see.It is fine.');
    expect(eventsOf(turn)).toMatchObject([['call_unread', { text: cut }]]);
    expect(turn.warnings).toEqual([expect.stringContaining('this node reads none')]);
  });

  it('is asked for again, with a line that says what was wrong', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(talking({ retries: 2 }));
    const turn = await client.sendMessage(agentId, 'late');
    expect(turn.calls).toMatchObject([{ toolName: 'get_weather', issues: [] }]);
    expect(eventsOf(turn)).toMatchObject([
      ['call_unread', { text: cut }],
      ['tool_retry', { attempt: 1, reason: expect.stringContaining('could not be read') as unknown }],
      ['tool_retry', { attempt: 2, reason: expect.stringContaining('get_weather') as unknown }],
    ]);
    expect(engine.prompts.at(-2)?.messages.at(-1)?.text).toContain('incomplete');
  });

  it('is asked for at most `retries` times', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(talking({ retries: 1 }));
    const turn = await client.sendMessage(agentId, 'late');
    expect(eventsOf(turn).map(([type]) => type)).toEqual(['call_unread', 'tool_retry', 'tool_insight', 'call_pending']);
    expect(turn.calls).toEqual([]);
  });

  it('stays an insight when the model answers the retry without a call', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(talking({ retries: 1 }));
    const turn = await client.sendMessage(agentId, 'which');
    expect(turn).toMatchObject({ calls: [], text: 'Which city?It is fine.' });
    expect(eventsOf(turn)).toMatchObject([
      ['tool_retry', { attempt: 1 }],
      ['tool_insight', { tool: 'get_weather', missing: [{ name: 'city' }] }],
      ['call_pending', { tool_name: 'get_weather', missing: [{ name: 'city' }] }],
    ]);
  });

  it('that is too large for a frame is not waited for, and the warning says so', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ sampling: { max_tokens: 8000 } }));
    const turn = await client.sendMessage(agentId, 'endless');
    expect(turn).toMatchObject({ calls: [], steps: 'detect:no_results sorry:default' });
    expect(turn.warnings).toEqual([expect.stringContaining('do not fit in a frame')]);
  });

  it('that is incomplete is an insight with its arguments, or a notification where the graph says so', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(talking());
    const asked = await client.sendMessage(agentId, 'incomplete');
    expect(eventsOf(asked)).toMatchObject([
      ['tool_insight', { tool: 'get_weather' }],
      ['call_pending', { tool_name: 'get_weather' }],
    ]);
    await client.request('changeParams', { agentId, nodeName: 'detect', paramsJson: '{"on_incomplete": "notify"}' });
    const notified = await client.sendMessage(agentId, 'incomplete');
    expect(notified.steps).toBe('detect:tool_called answer:default');
    expect(notified.calls).toMatchObject([
      { toolName: 'get_weather', issues: [{ code: 'missing_param', param: 'city' }] },
    ]);
    expect(notified.events).toEqual([]);
  });

  it.each([
    ['thoughtful', 'They ask.'],
    ['at the front', 'Hm.'],
  ])('has its thought in the diagnostics only: %s', async (message, thought) => {
    await using client = await connect();
    const agentId = await client.createAgent(talking({ thought: true }), { enableDiagnostics: true });
    const turn = await client.sendMessage(agentId, message);
    expect(turn.calls).toMatchObject([
      { repaired: false, issues: [], argumentsJson: expect.not.stringContaining('thought') as unknown },
    ]);
    expect(JSON.parse(turn.debugInfo)).toMatchObject({ calls: [{ thought }] });
  });

  it('of thoughts in a tool that has such a parameter is refused', async () => {
    await using client = await connect();
    const tool = { name: 'think', description: 'x', parameters: [{ name: 'thought', type: 'string' }] };
    const graphJson = JSON.stringify(talking({ thought: true, tools: [tool] }));
    const error = errorOf(await client.request('createAgent', { graphJson }));
    expect(error).toMatchObject({ code: 3003, message: expect.stringContaining('detect.params.thought') as unknown });
  });

  it('does not count the wait for results towards the timeout of the turn', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(
      weather({ tools: [{ name: 'get_weather', description: 'x', parameters: [{ name: 'city', type: 'string' }] }] }),
    );
    await client.request('changeParams', { agentId, nodeName: 'detect', paramsJson: '{"thought": true}' });
    const requestId = client.send('sendMessage', { agentId, text: 'thoughtful' });
    const [call] = await notifications(client, requestId, 1);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sun' })] });
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'SUCCESS', text: 'It is fine.' });
  });
});
