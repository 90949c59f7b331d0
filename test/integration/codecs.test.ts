import { expect, it } from 'vitest';
import { chatmlCall, notifications, result, scriptedEngine, weather } from '../helpers/resultGraphs.ts';
import { TestClient, useServer } from '../helpers/server.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';

// Most tests run with one codec in `npm test`: here a session goes the same way over both.
const server = useServer({
  engines: {
    mock: scriptedEngine([
      { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
      { match: '', answer: 'Grüße 👋, it is fine.', chunk: 3 },
    ]),
  },
});

/** What differs from session to session: times, ids of calls, and the key of the session. */
const isOwn = (name: string): boolean => /Ms$|^(?:session|resume|server)|^(?:callId|payloadJson|debugInfo)$/.test(name);

/** All that a client receives in a session with turns, a call, its result, a storage, a dialog and errors. */
async function framesOver(subprotocol: Subprotocol): Promise<readonly unknown[]> {
  await using client = await TestClient.connect(server().url, subprotocol);
  const agentId = await client.createAgent(weather(), { enableDiagnostics: true });
  await client.sendMessage(agentId, 'hello', { mood: 'glad 🎉' });
  const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
  const [call] = await notifications(client, requestId, 1);
  await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sun' })] });
  await client.turnOf(requestId);
  await client.request('createStringStorage', { name: 'birds', strings: ['a goose', 'a swan'] });
  await client.request('searchStorage', { name: 'birds', query: 'goose', topK: 1 });
  await client.request('changeParams', { agentId, nodeName: 'answer', paramsJson: '{"sampling": {"max_tokens": 5}}' });
  await client.request('exportDialog', { agentId });
  await client.request('listModels');
  await client.request('setPace', { maxTokensPerSecond: 100 });
  // Errors.
  await client.request('sendMessage', { agentId: 12_345, text: 'hello' });
  await client.request('createAgent', { graphJson: '{"start_node": "nowhere", "nodes": {}}' });
  await client.request('destroyAgent', { agentId });
  return JSON.parse(JSON.stringify(client.received, (name, value: unknown) => (isOwn(name) ? typeof value : value)));
}

it('a session is the same over both codecs', async () => {
  const frames = await framesOver('turngraph.v1.json');
  expect(new Set(frames.map((frame) => (frame as { body: string }).body)).size).toBeGreaterThan(8);
  expect(await framesOver('turngraph.v1.proto')).toEqual(frames);
});
