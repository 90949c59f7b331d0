import { describe, expect, it } from 'vitest';
import { chat } from './helpers/graphs.ts';
import { notifications, result } from './helpers/resultGraphs.ts';
import { TestClient, useServer } from './helpers/server.ts';

// What every change could break, with the bundled model in this process. test/model tests the rest.
const server = useServer();
const connect = (): Promise<TestClient> => TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');

describe('the demo model', () => {
  it('is loaded by its name', async () => {
    await using client = await connect();
    expect((await client.request('loadModel', { modelName: 'turngraph-demo' })).body).toBe('loadModel');
    const answer = await client.request('listModels');
    if (answer.body !== 'listModels') throw new Error(JSON.stringify(answer));
    expect(answer.listModels.models).toContainEqual(
      expect.objectContaining({ name: 'turngraph-demo', status: 'LOADED' }),
    );
  });

  it('answers in pieces', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent('chat'), 'Tell me a joke.');
    expect(turn).toMatchObject({ status: 'SUCCESS', steps: 'answer:default', stopReason: 'END' });
    expect(turn.text).not.toBe('');
    expect(turn.frames.filter(({ body }) => body === 'answerText').length).toBeGreaterThan(5);
  });

  it('calls a tool, and answers with its result', async () => {
    await using client = await connect();
    const agentId = await client.createAgent('weather');
    const requestId = client.send('sendMessage', { agentId, text: 'What is the weather in Paris?' });
    const [call] = await notifications(client, requestId, 1);
    expect(call).toMatchObject({ toolName: 'get_weather', argumentsJson: '{"city": "Paris"}', known: true });
    const results = [result({ ...call, content: 'sunny' })];
    expect((await client.request('submitToolResults', { agentId, results })).body).toBe('ack');
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'SUCCESS', steps: 'detect:tool_called answer:default' });
    expect(turn.text).not.toBe('');
  });

  it('ends a turn that is cancelled, and answers the next message', async () => {
    await using client = await connect();
    // Slow, so that the answer does not end before it is cancelled.
    const slowly = { max_tokens: 400, max_tokens_per_second: 1 };
    const agentId = await client.createAgent(chat({ model_name: 'turngraph-demo', sampling: slowly }));
    const requestId = client.send('sendMessage', { agentId, text: 'Tell me a joke.' });
    await client.waitFor((frame) => frame.requestId === requestId && frame.body === 'answerText');
    await client.request('cancelTurn', { agentId });
    expect((await client.turnOf(requestId)).status).toBe('CANCELLED');
    const { nodes } = chat({});
    const paramsJson = '{"sampling": {"max_tokens": 5}}';
    await client.request('changeParams', { agentId, nodeName: Object.keys(nodes)[0] ?? '', paramsJson });
    expect((await client.sendMessage(agentId, 'Hello!')).status).toBe('SUCCESS');
  });
});
