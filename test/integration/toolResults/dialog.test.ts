import { describe, expect, it } from 'vitest';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });

/** Detects calls, and answers only where there is none. */
const silent = (params: object = {}) => {
  const { start_node, nodes } = weather({ await_results: false, ...params });
  return { start_node, nodes: { ...nodes, detect: { ...nodes.detect, exits: { no_tool_called: 'answer' } } } };
};

describe.each(subprotocols)('over %s, the dialog', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  async function exported(client: TestClient, agentId: number): Promise<unknown> {
    const answer = await client.request('exportDialog', { agentId });
    return JSON.parse(answer.body === 'exportDialog' ? answer.exportDialog.historyJson : 'null');
  }

  it.each([
    ['the default line', {}, {}, 'Done.'],
    ['a line of the graph', { spoken: 'I looked up {{tool_calls.0.arguments.city}}.' }, {}, 'I looked up Paris.'],
    ['a line of the client', { spoken: '{{line}}' }, { line: 'Sunny there!' }, 'Sunny there!'],
    ['the default line where that of the graph is empty', { spoken: '{{^tool_calls}}x{{/tool_calls}}' }, {}, 'Done.'],
  ])('shows a turn that only called with %s', async (_, params, variables, spoken) => {
    await using client = await connect();
    const agentId = await client.createAgent(silent(params));
    const turn = await client.sendMessage(agentId, 'Paris?', variables);
    expect(turn).toMatchObject({ text: '', steps: 'detect:tool_called', warnings: [] });
    await client.sendMessage(agentId, 'Thanks.');
    expect(lastPrompt(engine)).toEqual(['user: Paris?', `assistant: ${spoken}`, 'user: Thanks.']);
    expect(await exported(client, agentId)).toMatchObject([{ user: 'Paris?', assistant: '', spoken }, {}]);
  });

  it('keeps a result of lifespan DIALOG as a plain line, and answers an equal call with it', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    const results = [result({ ...call, content: '18 degrees', lifespan: 'DIALOG' })];
    await client.request('submitToolResults', { agentId, results });
    await client.turnOf(requestId);
    const history = await exported(client, agentId);
    expect(history).toEqual([
      {
        user: 'Paris?',
        assistant: 'It is fine.',
        results: [
          {
            call_id: call?.callId,
            name: 'get_weather',
            arguments_json: '{"city": "Paris"}',
            ok: true,
            content: '18 degrees',
          },
        ],
      },
    ]);

    const other = await client.createAgent(weather(), { historyJson: JSON.stringify(history) });
    for (const agent of [agentId, other]) {
      const again = await client.sendMessage(agent, 'And now in Paris?');
      expect(again).toMatchObject({ calls: [], steps: 'detect:tool_called answer:default', text: 'It is fine.' });
      expect(again.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown])).toEqual(
        [['already_known', { tool: 'get_weather', arguments: { city: 'Paris' }, of: call?.callId }]],
      );
      expect(lastPrompt(engine)).toEqual([
        'user: Paris?',
        'system: Result of get_weather {"city": "Paris"}: 18 degrees',
        'assistant: It is fine.',
        'user: And now in Paris?',
        expect.stringContaining('<tool_call>'),
        'user: <tool_response>\n18 degrees\n</tool_response>',
      ]);
    }
    await client.request('clearDialog', { agentId });
    const cleared = client.send('sendMessage', { agentId, text: 'Paris?' });
    expect(await notifications(client, cleared, 1)).toHaveLength(1);
  });

  it('forgets a result of lifespan TURN', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: '18 degrees' })] });
    await client.turnOf(requestId);
    expect(await exported(client, agentId)).toEqual([{ user: 'Paris?', assistant: 'It is fine.' }]);
    await client.sendMessage(agentId, 'Thanks.');
    expect(lastPrompt(engine)).toEqual(['user: Paris?', 'assistant: It is fine.', 'user: Thanks.']);
  });

  it('never shows a message without an answer', async () => {
    await using client = await connect();
    const history = [
      { user: 'a question', assistant: '' },
      { user: 'a cancelled one', assistant: '', mark: 'cancelled' },
      { user: 'a good one', assistant: 'Yes.' },
    ];
    const agentId = await client.createAgent(silent(), { historyJson: JSON.stringify(history) });
    await client.sendMessage(agentId, 'Thanks.');
    expect(lastPrompt(engine)).toEqual(['user: a good one', 'assistant: Yes.', 'user: Thanks.']);
  });

  it('takes what was said elsewhere', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(silent());
    const appended = { agentId, user: 'Is a person here?', assistant: 'I am.' };
    expect((await client.request('appendDialog', appended)).body).toBe('ack');
    await client.request('appendDialog', { agentId, assistant: 'The door opens.' });
    await client.sendMessage(agentId, 'Thanks.');
    expect(lastPrompt(engine)).toEqual([
      'user: Is a person here?',
      'assistant: I am.',
      'assistant: The door opens.',
      'user: Thanks.',
    ]);
  });

  it.each([
    ['nothing', {}, 5001],
    ['more than a message may have', { user: 'x'.repeat(300_000) }, 2005],
    ['another agent', { agentId: 9, user: 'x' }, 3001],
  ])('refuses to append %s', async (_, fields, code) => {
    await using client = await connect();
    const agentId = await client.createAgent(silent());
    expect(errorOf(await client.request('appendDialog', { agentId, ...fields })).code).toBe(code);
  });

  it('is not appended to while a turn runs', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    await notifications(client, requestId, 1);
    expect(errorOf(await client.request('appendDialog', { agentId, user: 'x', assistant: 'y' })).code).toBe(3004);
  });
});
