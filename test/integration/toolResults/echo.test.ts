import { describe, expect, it } from 'vitest';
import { chatmlCall, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const call = chatmlCall('get_weather', { city: 'Paris' });
const server = useServer({
  engines: {
    mock: scriptedEngine([
      { match: '', node: 'detect', nth: 1, answer: call },
      { match: 'echo', node: 'answer', answer: '{ "city": "Paris" }\n', chunk: 3 },
      { match: 'json', node: 'answer', answer: '{"city": "Rome"}', chunk: 3 },
      { match: 'words', node: 'answer', answer: 'It is {fine}.', chunk: 3 },
      { match: 'echo', node: 'detect', nth: 2, answer: '{"city":"Paris"}', chunk: 3 },
      { match: 'words', node: 'detect', nth: 2, answer: 'It is fine.', chunk: 3 },
    ]),
  },
});

describe.each(subprotocols)('over %s, a reply after a result', (subprotocol) => {
  /** A turn whose call gets a result. */
  async function talk(graph: object, message: string) {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph);
    const requestId = client.send('sendMessage', { agentId, text: message });
    const [first] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...first, content: 'sun' })] });
    return await client.turnOf(requestId);
  }

  const answering = (stream: boolean) => {
    const { nodes, ...graph } = weather();
    return { ...graph, nodes: { ...nodes, answer: { type: 'Generate', params: { stream } } } };
  };
  const looping = (stream: boolean) => weather({ generate_on_no_tool: true, stream }, { loops: true });

  it.each([
    ['Generate', answering],
    ['ToolCall', looping],
  ])('that repeats the arguments is dropped and reported by %s', async (_node, graphOf) => {
    for (const stream of [true, false]) {
      const { text, events, warnings } = await talk(graphOf(stream), 'echo');
      expect(text).toBe('');
      // After the ToolCall node the Generate node writes the same.
      const reasons = events.map(({ payloadJson }) => (JSON.parse(payloadJson) as { reason: string }).reason);
      expect(new Set(reasons)).toEqual(new Set(['it repeats the arguments of get_weather']));
      expect([reasons.length, warnings.length]).toEqual(graphOf === looping ? [2, 2] : [1, 1]);
    }
  });

  it.each(['json', 'words'])('that says something else is the answer: %s', async (message) => {
    for (const stream of [true, false]) {
      const { text, warnings } = await talk(answering(stream), message);
      expect({ text, warnings }).toEqual({
        text: message === 'json' ? '{"city": "Rome"}' : 'It is {fine}.',
        warnings: [],
      });
    }
  });
});
