import { describe, expect, it } from 'vitest';
import { chatmlCall, notifications, result, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { keyOf, lastSeqOf, resumed, textOf, untilGauge } from '../../helpers/resume.ts';
import { startTestServer, subprotocols, TestClient } from '../../helpers/server.ts';

const script = [
  { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '', answer: 'It is fine.' },
];

describe.each(subprotocols)('over %s, while a turn waits for results', (subprotocol) => {
  it('a client whose connection broke resumes, submits, and gets the answer', async () => {
    await using server = await startTestServer({ engines: { mock: scriptedEngine(script) }, resumeGrace: 1000 });
    const first = await TestClient.connect(server.url, subprotocol);
    const key = await keyOf(first);
    const agentId = await first.createAgent(weather());
    const requestId = first.send('sendMessage', { agentId, text: 'Paris?' });
    const [call] = await notifications(first, requestId, 1);
    first.socket.terminate();
    await first.closed;
    const { client } = await resumed(server.url, subprotocol, key, lastSeqOf(first));
    await using second = client;
    await second.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sun' })] });
    await second.waitFor((frame) => frame.requestId === requestId && frame.body === 'turnComplete');
    expect(textOf(requestId, first, second)).toBe('It is fine.');
  });

  it('a client that never comes back leaves no turn behind', async () => {
    await using server = await startTestServer({ engines: { mock: scriptedEngine(script) }, resumeGrace: 0.1 });
    const client = await TestClient.connect(server.url, subprotocol);
    const agentId = await client.createAgent(weather());
    await notifications(client, client.send('sendMessage', { agentId, text: 'Paris?' }), 1);
    client.socket.terminate();
    await untilGauge(server, 'turns_running', 0);
    await untilGauge(server, 'agents', 0);
  });

  it('an agent is destroyed, cleared and shut down at once', async () => {
    await using server = await startTestServer({ engines: { mock: scriptedEngine(script) }, graceMs: 20 });
    await using client = await TestClient.connect(server.url, subprotocol);
    for (const request of ['clearDialog', 'destroyAgent'] as const) {
      const agentId = await client.createAgent(weather());
      const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
      await notifications(client, requestId, 1);
      expect((await client.request(request, { agentId })).body).toBe('ack');
      expect(await client.turnOf(requestId)).toMatchObject({ status: 'CANCELLED' });
    }
    const agentId = await client.createAgent(weather());
    const requestId = client.send('sendMessage', { agentId, text: 'Paris?' });
    await notifications(client, requestId, 1);
    await server[Symbol.asyncDispose]();
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'CANCELLED', error: { code: 2001 } });
  });
});
