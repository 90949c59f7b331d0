import { describe, expect, it } from 'vitest';
import { notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const first = '{"size": 1, "at": {"x": 2, "y": [3, 4]}}';
const equal = {
  'the keys in another order': '{"at": {"y": [3, 4], "x": 2}, "size": 1}',
  'a number in another notation': '{"size": 1.0, "at": {"x": 2e0, "y": [3, 4.00]}}',
  'a number as text': '{"size": "1", "at": {"x": 2, "y": [3, 4]}}',
};
const other = {
  'another number': '{"size": 10, "at": {"x": 2, "y": [3, 4]}}',
  'a list in another order': '{"size": 1, "at": {"x": 2, "y": [4, 3]}}',
  'a number that differs in its last digit': '{"size": 1.0000000000000000001, "at": {"x": 2, "y": [3, 4]}}',
};
const build = (args: string): string => `<tool_call>\n{"name": "build", "arguments": ${args}}\n</tool_call>`;
const engine = scriptedEngine([
  { match: '', node: 'detect', nth: 1, answer: build(first) },
  ...Object.entries({ ...equal, ...other }).map(([match, args]) => {
    return { match, node: 'detect', nth: 2, answer: build(args) };
  }),
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });
const tools = [
  {
    name: 'build',
    description: 'Builds a house.',
    parameters: { type: 'object', properties: { size: { type: 'number' }, at: { type: 'object' } } },
  },
];

describe.each(subprotocols)('over %s, a call with', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it.each(Object.keys(equal))('%s is equal to one that is answered', async (message) => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ tools }, { loops: true }));
    const requestId = client.send('sendMessage', { agentId, text: message });
    const [call] = await notifications(client, requestId, 1);
    const results = [result({ ...call, content: 'built', lifespan: 'DIALOG' })];
    await client.request('submitToolResults', { agentId, results });
    const turn = await client.turnOf(requestId);
    expect(turn.events.map(({ eventType }) => eventType)).toEqual(['call_repeated']);
    const next = await client.sendMessage(agentId, message);
    expect(next.calls).toEqual([]);
    expect(next.events.map(({ eventType }) => eventType)).toEqual(['already_known', 'call_repeated']);
  });

  it.each(Object.keys(other))('%s is a new one', async (message) => {
    await using client = await connect();
    const agentId = await client.createAgent(weather({ tools }, { loops: true }));
    const requestId = client.send('sendMessage', { agentId, text: message });
    for (const count of [1, 2]) {
      const call = (await notifications(client, requestId, count))[count - 1];
      await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'built' })] });
    }
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'SUCCESS', events: [] });
  });

  it('an equal one in the dialog has the newest result of it', async () => {
    await using client = await connect();
    const saved = (content: string) => {
      const known = { call_id: content, name: 'build', arguments_json: first, ok: true, content };
      return { user: 'Build!', assistant: 'Yes.', results: [known] };
    };
    const historyJson = JSON.stringify([saved('old'), saved('new')]);
    const agentId = await client.createAgent(weather({ tools }), { historyJson });
    const turn = await client.sendMessage(agentId, 'hello');
    expect(turn.events.map(({ payloadJson }) => JSON.parse(payloadJson) as unknown)).toMatchObject([{ of: 'new' }]);
  });
});
