import { describe, expect, it } from 'vitest';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const paris = chatmlCall('get_weather', { city: 'Paris' });
const oslo = chatmlCall('get_weather', { city: 'Oslo' });
const rome = chatmlCall('get_weather', { city: 'Rome' });
const engine = scriptedEngine([
  { match: 'three', node: 'detect', nth: 1, answer: `${paris}\n${oslo}\n${rome}` },
  { match: 'aunt', node: 'detect', nth: 1, answer: chatmlCall('find_person', { who: 'aunt' }) },
  { match: 'aunt', node: 'detect', nth: 2, answer: oslo },
  { match: 'two nodes', node: 'detect', answer: paris },
  { match: 'two nodes', node: 'second', nth: 2, answer: oslo },
  { match: 'two nodes', node: 'second', answer: chatmlCall('find_person', { who: 'aunt' }) },
  { match: 'again and again', node: 'detect', answer: paris },
  { match: 'ever new', node: 'detect', nth: 1, answer: paris },
  { match: 'ever new', node: 'detect', nth: 2, answer: oslo },
  { match: 'ever new', node: 'detect', nth: 3, answer: rome },
  { match: 'Paris', node: 'detect', nth: 1, answer: paris },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });

describe.each(subprotocols)('over %s, a turn that waits for results', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('goes on with the result, and the model answers with it', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'How is it in Paris?' });
    const [call] = await notifications(client, requestId, 1);
    expect(call).toMatchObject({
      toolName: 'get_weather',
      awaitsResult: true,
      typedArgumentsJson: '{"city": "Paris"}',
    });
    const results = [result({ ...call, content: '18 degrees' })];
    expect((await client.request('submitToolResults', { agentId, turnId: 1, results })).body).toBe('ack');
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ text: 'It is fine.', steps: 'detect:tool_called answer:default', warnings: [] });
    expect(lastPrompt(engine)).toEqual([
      'user: How is it in Paris?',
      'assistant: <tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
      'user: <tool_response>\n18 degrees\n</tool_response>',
    ]);
  });

  it('sends all calls of a reply before it waits, and shows the results in the order of the calls', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'three of them' });
    const calls = await notifications(client, requestId, 3);
    const [first, second, third] = calls.map((call) => result({ ...call, content: call.typedArgumentsJson }));
    await client.request('submitToolResults', { agentId, results: [third ?? result({})] });
    await client.request('submitToolResults', { agentId, results: [first ?? result({}), second ?? result({})] });
    const turn = await client.turnOf(requestId);
    expect(turn.steps).toBe('detect:tool_called answer:default');
    expect(
      engine.prompts
        .at(-1)
        ?.messages.slice(2)
        .map(({ toolExchange }) => toolExchange),
    ).toMatchObject([
      { kind: 'result', content: '{"city": "Paris"}' },
      { kind: 'result', content: '{"city": "Oslo"}' },
      { kind: 'result', content: '{"city": "Rome"}' },
    ]);
  });

  it('chains: the second call uses the result of the first', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ tool_choice: 'required' }, { loops: true }));
    const requestId = client.send('sendMessage', { agentId, text: 'What is the weather where my aunt is?' });
    const [find] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...find, content: 'Oslo' })] });
    const [, weatherCall] = await notifications(client, requestId, 2);
    expect(weatherCall).toMatchObject({
      toolName: 'get_weather',
      typedArgumentsJson: '{"city": "Oslo"}',
      callIndex: 1,
    });
    await client.request('submitToolResults', { agentId, results: [result({ ...weatherCall, content: 'snow' })] });
    const turn = await client.turnOf(requestId);
    expect(turn.steps).toBe('detect:tool_called detect:tool_called detect:no_tool_called answer:default');
    expect(lastPrompt(engine).slice(1)).toEqual([
      expect.stringContaining('find_person'),
      'user: <tool_response>\nOslo\n</tool_response>',
      expect.stringContaining('get_weather'),
      'user: <tool_response>\nsnow\n</tool_response>',
    ]);
  });

  it('keeps the tool_choice of a second node, which has no results of its own yet', async () => {
    await using client = await connect();
    const { start_node, nodes } = weather();
    const second = { ...nodes.detect, params: { ...nodes.detect.params, tool_choice: 'find_person', retries: 1 } };
    const detect = { ...nodes.detect, exits: { ...nodes.detect.exits, tool_called: 'second' } };
    const agentId = await client.createAgent({ start_node, nodes: { ...nodes, detect, second } });
    const requestId = client.send('sendMessage', { agentId, text: 'two nodes' });
    const [first] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...first, content: 'sun' })] });
    const [, found] = await notifications(client, requestId, 2);
    expect(found).toMatchObject({ nodeName: 'second', toolName: 'find_person' });
    await client.request('submitToolResults', { agentId, results: [result({ ...found, content: 'Oslo' })] });
    const turn = await client.turnOf(requestId);
    expect(turn.events.map(({ eventType }) => eventType)).toEqual(['call_unread', 'tool_retry']);
    expect(turn.warnings).toEqual([]);
    expect(turn.steps).toBe('detect:tool_called second:tool_called answer:default');
  });

  it('gives a repeated call the result that it has, and ends the loop at the second repeat', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({}, { loops: true }));
    const requestId = client.send('sendMessage', { agentId, text: 'again and again' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'rain' })] });
    const turn = await client.turnOf(requestId);
    expect(turn.calls).toHaveLength(1);
    expect(turn.steps).toBe('detect:tool_called detect:tool_called detect:no_tool_called answer:default');
    expect(turn.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown])).toEqual(
      Array(2).fill(['call_repeated', { tool: 'get_weather', arguments: { city: 'Paris' }, of: call?.callId }]),
    );
  });

  it('asks for calls at most max_rounds times', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ max_rounds: 2 }, { loops: true }));
    const requestId = client.send('sendMessage', { agentId, text: 'ever new' });
    for (const count of [1, 2]) {
      const call = (await notifications(client, requestId, count))[count - 1];
      await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sun' })] });
    }
    const turn = await client.turnOf(requestId);
    expect(turn.steps).toBe('detect:tool_called detect:tool_called detect:no_tool_called answer:default');
    expect(turn.warnings).toEqual([expect.stringContaining('max_rounds')]);
  });

  it('takes no_results when a result does not come in time, and refuses a late one', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ results_timeout_ms: 50 }));
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ steps: 'detect:no_results sorry:default', text: 'I cannot reach it.' });
    expect(turn.warnings).toEqual([expect.stringContaining('got no result of get_weather within 50 ms')]);
    expect(errorOf(await client.request('submitToolResults', { agentId, results: [result({ ...call })] })).code).toBe(
      3012,
    );
  });

  it('keeps the results that came in time when others are missing', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ results_timeout_ms: 300 }));
    const requestId = client.send('sendMessage', { agentId, text: 'three of them' });
    const calls = await notifications(client, requestId, 3);
    await client.request('submitToolResults', { agentId, results: [result({ ...calls[1], content: 'fog' })] });
    const turn = await client.turnOf(requestId);
    expect(turn.steps).toBe('detect:no_results sorry:default');
    expect(turn.warnings).toEqual([expect.stringContaining('no result of get_weather, get_weather')]);
  });

  it('ends at once when it is cancelled, and the agent answers the next message', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    await notifications(client, requestId, 1);
    await client.request('cancelTurn', { agentId });
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'CANCELLED', stopReason: 'END' });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS', text: 'It is fine.' });
  });

  it.each([
    ['an unknown call', (id: string) => ({ results: [result({ callId: id }), result({ callId: 'x' })] }), 3012, '"x"'],
    [
      'two results for one call',
      (id: string) => ({ results: [result({ callId: id }), result({ callId: id })] }),
      3012,
      'second',
    ],
    ['another turn', (id: string) => ({ turnId: 7, results: [result({ callId: id })] }), 3012, 'not in turn 7'],
    [
      'a result that is too large',
      (id: string) => ({ results: [result({ callId: id, content: 'é'.repeat(131_073) })] }),
      2005,
      'results[0].content has 262146 bytes',
    ],
  ])('refuses %s, applies none of the results, and still waits', async (_, request, code, message) => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    const refused = await client.request('submitToolResults', { agentId, ...request(call?.callId ?? '') });
    expect(errorOf(refused)).toMatchObject({ code, message: expect.stringContaining(message) as unknown });
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sun' })] });
    expect((await client.turnOf(requestId)).steps).toBe('detect:tool_called answer:default');
  });

  it('refuses a second result for a call while another one is awaited', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'three of them' });
    const [first, ...others] = (await notifications(client, requestId, 3)).map((call) => result({ ...call }));
    await client.request('submitToolResults', { agentId, results: [first ?? result({})] });
    const second = await client.request('submitToolResults', { agentId, results: [first ?? result({}), ...others] });
    expect(errorOf(second)).toMatchObject({ code: 3012, message: expect.stringContaining('second result') as unknown });
    await client.request('submitToolResults', { agentId, results: others });
    expect((await client.turnOf(requestId)).status).toBe('SUCCESS');
  });

  it('fails with 4004 when the results leave no room in the prompt', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', {
      agentId,
      results: [result({ ...call, content: 'sun '.repeat(50_000) })],
    });
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'ERROR', error: { code: 4004 } });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS' });
  });

  it('is refused without notifications, when the agent is made and when it is changed', async () => {
    await using client = await connect();
    const graphJson = JSON.stringify(weather({ notify_client: false }));
    expect(errorOf(await client.request('createAgent', { graphJson }))).toMatchObject({
      code: 3003,
      message: expect.stringContaining('detect.params.await_results needs notify_client') as unknown,
    });
    const agentId = await client.createAgent(weather());
    const change = { agentId, nodeName: 'detect', paramsJson: '{"notify_client": false}' };
    expect(errorOf(await client.request('changeParams', change)).code).toBe(3007);
  });
});

describe('over turngraph.v1.json, a turn that waits for results', () => {
  it('refuses a malformed result with its path, and still waits', async () => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json');
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    const body = { agentId, results: [{ callId: call?.callId, ok: 'yes', content: '' }] };
    client.socket.send(JSON.stringify({ requestId: 900, submitToolResults: body }));
    expect(errorOf(await client.finalResponse(900))).toMatchObject({
      code: 5001,
      message: expect.stringContaining('submitToolResults.results[0].ok must be true or false') as unknown,
    });
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sun' })] });
    expect((await client.turnOf(requestId)).status).toBe('SUCCESS');
  });
});
