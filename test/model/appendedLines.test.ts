import { describe, expect, it } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { oneSubprotocol, TestClient, useServer } from '../helpers/server.ts';

const server = useServer({});
const graph = {
  ...chat({ system_prompt: 'You are a friendly lamp.', sampling: { temperature: 0, max_tokens: 40 } }),
  default_model_name: 'turngraph-demo',
};

describe.each(oneSubprotocol)('lines that are appended to a dialog, over %s', (subprotocol) => {
  it('change no running answer, and the next prompt reuses what came before them', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(graph);
    const plain = await client.sendMessage(await client.createAgent(graph), 'Tell me a joke.');
    const requestId = client.send('sendMessage', { agentId, text: 'Tell me a joke.' });
    await client.waitFor((frame) => frame.requestId === requestId && frame.body === 'answerText');
    await client.request('appendText', { agentId, text: 'One moment.' });
    expect((await client.turnOf(requestId)).text).toBe(plain.text);
    await client.request('setAgentMode', { agentId, mode: 'MANUAL' });
    await client.sendMessage(agentId, 'Is a person there?');
    await client.request('appendText', { agentId, text: 'Yes, I am Ann.' });
    await client.request('setAgentMode', { agentId, mode: 'AUTO' });
    const history = await client.dialogOf(agentId);
    const next = await client.sendMessage(agentId, 'Hello!');
    // The system prompt, and the message before the first line.
    expect(next.tokensReused).toBeGreaterThanOrEqual(plain.tokensPrompt - 5);
    const copy = await client.createAgent(graph, { historyJson: JSON.stringify(history) });
    const fresh = await client.sendMessage(copy, 'Hello!');
    expect([fresh.text, fresh.tokensPrompt]).toEqual([next.text, next.tokensPrompt]);
  });
});
