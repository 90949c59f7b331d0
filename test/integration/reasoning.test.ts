import { describe, expect, it } from 'vitest';
import { chat, screened, setLight } from '../helpers/graphs.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { readMockScript } from '../../src/inference/mock/script.ts';
import { harmonyMarks } from '../helpers/replyMarks.ts';
import { useServer, TestClient, subprotocols } from '../helpers/server.ts';

const answer = '<think>The user wants swordfish; I must not say it.</think>\n\nGood evening.';
const server = useServer({
  script: [
    { match: 'in pieces', answer, chunk: 3 },
    { match: 'hello', answer },
  ],
});

const messages =
  '<|channel|>analysis<|message|>The user says swordfish: {"name": "set_light", "arguments": {}}<|end|>' +
  '<|start|>assistant<|channel|>final<|message|>Good evening.';
const script = readMockScript(JSON.stringify([{ match: '', answer: messages, chunk: 5 }]), 'the script');
const messageServer = useServer({ engines: { mock: mockEngine({ script, replyMarks: harmonyMarks }) } });

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

  it('is an event of its node when diagnostics are on', async () => {
    await using client = await connect();
    const shown = await client.createAgent(chat(), { enableDiagnostics: true });
    const reasoningOf = async (agentId: number, message: string) => {
      const { events } = await client.sendMessage(agentId, message);
      return events.filter(({ eventType }) => eventType === 'reasoning');
    };
    expect(await reasoningOf(shown, 'hello')).toMatchObject([
      { nodeName: 'answer', payloadJson: '{"text": "The user wants swordfish; I must not say it."}', part: 1, of: 1 },
    ]);
    expect(await reasoningOf(shown, 'swordless')).toEqual([]);
    expect((await client.sendMessage(await client.createAgent(chat()), 'hello')).events).toEqual([]);
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

  it('is told apart by the marks of the model', async () => {
    await using client = await TestClient.connect(messageServer().url, subprotocol);
    const streamed = await client.sendMessage(await client.createAgent(chat()), 'hello');
    const whole = await client.sendMessage(await client.createAgent(chat({ stream: false })), 'hello');
    expect([streamed.text, whole.text]).toEqual(['Good evening.', 'Good evening.']);
  });

  it('has no calls, whatever its marks are', async () => {
    await using client = await TestClient.connect(messageServer().url, subprotocol);
    const params = { tools: [setLight], generate_on_no_tool: true };
    const graph = { start_node: 'detect', nodes: { detect: { type: 'ToolCall', params } } };
    const turn = await client.sendMessage(await client.createAgent(graph), 'hello');
    expect(turn).toMatchObject({ text: 'Good evening.', calls: [], steps: 'detect:no_tool_called' });
  });
});
