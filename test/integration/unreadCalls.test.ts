import { describe, expect, it } from 'vitest';
import { chat, lamp } from '../helpers/graphs.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

const call = '<tool_call>\n{"name": "set_light", "arguments": {"on": true}}\n</tool_call>';
const cutOff = '<tool_call>\n{"name": "set_li';
const server = useServer({
  script: [
    { match: '^call$', answer: call, chunk: 3 },
    { match: '^call and talk$', answer: `It is dark.\n${call}\nIt is done.`, chunk: 1 },
    { match: '^cut off$', answer: `It is dark. ${cutOff}`, chunk: 5 },
    { match: '^control tokens$', answer: '<|a|>It is dark. [TOOL_CALLS] [{"name": "set_light", "arguments": {}}]' },
    { match: '^think$', answer: `<think>${call}</think>It is dark.`, chunk: 4 },
    { match: '^explain$', answer: 'Write `<tool_call>` before it.', chunk: 2 },
    { match: '^backticks$', answer: `</tool_call>${'`'.repeat(70)}! </tool_call>` },
    { match: '^json$', answer: `{"text": "${'<tool_call>'}"}`, chunk: 2 },
  ],
});

const warning =
  'answer wrote a tool call, and this node reads none; put a ToolCall node in its place, or say in system_prompt not to call tools';

describe.each(subprotocols)('over %s, call markup in a Generate node', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  /** The text, the warnings and the pieces of markup of a turn. */
  async function talk(message: string, params: object = {}) {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(chat(params)), message);
    const unread = turn.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown]);
    return { text: turn.text, warnings: turn.warnings, unread };
  }

  const unreadOf = (text: string) => [['call_unread', { text, reason: 'this node reads no calls' }]];

  it.each<[string, string, string, string]>([
    ['alone', 'call', '', call],
    ['between prose', 'call and talk', 'It is dark.\nIt is done.', call],
    ['cut off', 'cut off', 'It is dark.', cutOff],
    ['after a control token', 'control tokens', 'It is dark.', '[TOOL_CALLS] [{"name": "set_light", "arguments": {}}]'],
  ])('is no part of the answer, and is reported once: %s', async (_, message, text, unread) => {
    const expected = { text, warnings: [warning], unread: unreadOf(unread) };
    for (const params of [{ stream: false }, { hold: true }]) expect(await talk(message, params)).toEqual(expected);
    const streamed = await talk(message);
    expect({ ...streamed, text: streamed.text.trimEnd() }).toEqual(expected);
  });

  it.each([
    ['in reasoning', 'think', 'It is dark.', {}],
    ['in Markdown code', 'explain', 'Write `<tool_call>` before it.', {}],
    ['in JSON of a schema', 'json', '{"text": "<tool_call>"}', { response_schema: { type: 'object' } }],
  ])('is not looked for %s', async (_, message, text, params) => {
    expect(await talk(message, params)).toEqual({ text, warnings: [], unread: [] });
  });

  // It was read for ever, and the server answered nothing more.
  it.each([
    ['a Generate node', chat()],
    ['a ToolCall node', lamp()],
  ])('may have seventy backticks between two marks, in %s', async (_, graph) => {
    await using client = await connect();
    const { text } = await client.sendMessage(await client.createAgent(graph), 'backticks');
    expect(text).not.toContain('tool_call>');
    const health = await fetch(server().url.replace('ws', 'http') + '/health/live');
    expect(health.status).toBe(200);
  });

  it('does not enter the dialog', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat(), { enableDiagnostics: true });
    await client.sendMessage(agentId, 'call and talk');
    const { events } = await client.sendMessage(agentId, 'hello');
    const inference = events.find(({ eventType }) => eventType === 'inference')?.payloadJson;
    expect(inference).toContain('It is dark.\\nIt is done.');
    expect(inference).not.toContain('tool_call>');
  });
});
