import { describe, expect, it } from 'vitest';
import { chat, screened, setLight } from '../helpers/graphs.ts';
import { useServer, TestClient, subprotocols } from '../helpers/server.ts';

const answer = '<think>The user wants swordfish; I must not say it.</think>\n\nGood evening.';
const server = useServer({
  script: [
    { match: 'in pieces', answer, chunk: 3 },
    { match: 'hello', answer },
  ],
});

describe.each(subprotocols)('over %s, the reasoning of a model', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it.each([
    ['streamed', {}],
    ['in one frame', { stream: false }],
    ['with thinking on', { thinking: true }],
  ])('is no part of an answer: %s', async (_, params) => {
    await using client = await connect();
    const agentId = await client.createAgent(chat(params));
    expect((await client.sendMessage(agentId, 'in pieces')).text).toBe('Good evening.');
    expect((await client.sendMessage(agentId, 'hello')).text).toBe('Good evening.');
  });

  it('is in debugInfo when diagnostics are on', async () => {
    await using client = await connect();
    const { debugInfo } = await client.sendMessage(
      await client.createAgent(chat(), { enableDiagnostics: true }),
      'hello',
    );
    expect(JSON.parse(debugInfo)).toMatchObject({
      inferences: [{ reasoning: 'The user wants swordfish; I must not say it.' }],
    });
  });

  it('is not matched by a guardrail', async () => {
    await using client = await connect();
    expect(await client.sendMessage(await client.createAgent(screened('swordfish')), 'hello')).toMatchObject({
      text: 'Good evening.',
    });
  });

  it('is no part of the text that a tool call node sends when there is no call', async () => {
    await using client = await connect();
    const graph = {
      start_node: 'detect',
      nodes: { detect: { type: 'ToolCall', params: { tools: [setLight], generate_on_no_tool: true } } },
    };
    expect(await client.sendMessage(await client.createAgent(graph), 'hello')).toMatchObject({ text: 'Good evening.' });
  });
});
