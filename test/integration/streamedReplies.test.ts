import { describe, expect, it } from 'vitest';
import { chatmlCall, result, notifications } from '../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer, errorOf, type TurnResult } from '../helpers/server.ts';

const call = chatmlCall('set_lamp', { room: 'porch' });
const server = useServer({
  script: [
    { match: 'both', nth: 1, answer: `At once, my friend.\n${call}`, chunk: 3 },
    { match: 'both', answer: 'It is lit now.', chunk: 3 },
    { match: 'lamp', answer: `At once, my friend.\n${call}\nAnything else?`, chunk: 3 },
    { match: 'code', answer: 'See {"a": 1} and that is all', chunk: 3 },
    { match: 'broken', answer: 'At once, my friend. <tool_call>{"name": "set', chunk: 3 },
    { match: 'mood', nth: 1, answer: `I feel rather good today.\n${'And I talk on. '.repeat(50)}`, chunk: 3 },
    { match: 'mood', nth: 2, answer: '{"name": "Mira", "arguments": {}}', chunk: 3 },
    { match: 'data', answer: '{"name": "Mira", "arguments": {}}', chunk: 3 },
    { match: '', answer: 'Good evening, traveller. Sit down.', chunk: 3 },
  ],
});

const graph = (params: object, exits: object = {}): object => ({
  start_node: 'act',
  nodes: {
    act: {
      type: 'ToolCall',
      params: {
        tools: [{ name: 'set_lamp', description: 'Lights a lamp.', parameters: [{ name: 'room', type: 'string' }] }],
        generate_on_no_tool: true,
        ...params,
      },
      exits,
    },
  },
});

/** The frames of a turn that a client would show: texts, and calls by their names. */
const shown = ({ frames }: TurnResult): readonly string[] =>
  frames.flatMap((frame) => {
    if (frame.body === 'toolCallNotification') return [`call ${frame.toolCallNotification.toolName}`];
    return frame.body === 'answerText' && frame.answerText.text !== '' ? [frame.answerText.text] : [];
  });

describe.each(subprotocols)('over %s, a ToolCall node with stream', (subprotocol) => {
  it('sends a text without a call as deltas', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const turn = await client.sendMessage(await client.createAgent(graph({ stream: true })), 'hello');
    expect(turn).toMatchObject({ text: 'Good evening, traveller. Sit down.', warnings: [], status: 'SUCCESS' });
    expect(shown(turn).length).toBeGreaterThan(3);
    const deltas = turn.frames.flatMap((frame) => (frame.body === 'answerText' ? [frame.answerText.isDelta] : []));
    expect(deltas).toEqual([...shown(turn).map(() => true), false]);
  });

  it('sends the text before a call while it is generated, and all of it before the call', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph({ stream: true }));
    const turn = await client.sendMessage(agentId, 'the lamp, please');
    expect(turn.text).toBe('At once, my friend.\nAnything else?');
    expect(shown(turn).length).toBeGreaterThan(4);
    expect(shown(turn).at(-1)).toBe('call set_lamp');
    // The dialog has what was sent.
    await client.sendMessage(agentId, 'hello');
    const exported = await client.request('exportDialog', { agentId });
    expect(JSON.stringify(exported)).toContain('At once, my friend.');
  });

  it('holds JSON back that could have been a call, and leaves out markup that could not be read', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph({ stream: true }));
    expect((await client.sendMessage(agentId, 'code')).text).toBe('See {"a": 1} and that is all');
    const broken = await client.sendMessage(agentId, 'broken');
    expect(broken.text).toBe('At once, my friend.');
    expect(broken.warnings).toEqual([expect.stringContaining('could not be used')]);
  });

  it('begins a line with the text of a reply after results', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const looping = graph({ stream: true, await_results: true }, { tool_called: 'act' });
    const requestId = client.send('sendMessage', { agentId: await client.createAgent(looping), text: 'both' });
    const [notified] = await notifications(client, requestId, 1);
    const { agentId = 0, turnId = 0, callId = '' } = notified ?? {};
    await client.request('submitToolResults', { agentId, turnId, results: [result({ callId, content: 'lit' })] });
    expect((await client.turnOf(requestId)).text).toBe('At once, my friend.\nIt is lit now.');
  });

  it.each([{ tool_choice: 'none' }, { tool_choice: 'none', response_schema: { type: 'object' } }])(
    'streams an answer without tools with %j',
    async (params) => {
      await using client = await TestClient.connect(server().url, subprotocol);
      const turn = await client.sendMessage(await client.createAgent(graph({ stream: true, ...params })), 'hello');
      expect(turn.text).toBe('Good evening, traveller. Sit down.');
      expect(shown(turn).length).toBeGreaterThan(3);
    },
  );

  it.each([{}, { stream: true, retries: 1 }, { stream: true, tool_call_format: 'react' }])(
    'sends nothing while it generates with %j',
    async (params) => {
      await using client = await TestClient.connect(server().url, subprotocol);
      const turn = await client.sendMessage(await client.createAgent(graph(params)), 'hello');
      expect(shown(turn)).toEqual(['Good evening, traveller. Sit down.']);
    },
  );
});

const response_schema = {
  type: 'object',
  properties: { name: { type: 'string' }, arguments: { type: 'object', properties: {} } },
  required: ['name', 'arguments'],
  additionalProperties: false,
};

describe.each(subprotocols)('over %s, a ToolCall node with response_schema', (subprotocol) => {
  it('takes JSON that is no call of a tool as the answer, and a call as a call', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph({ response_schema }));
    expect(await client.sendMessage(agentId, 'data')).toMatchObject({
      text: '{"name": "Mira", "arguments": {}}',
      calls: [],
      warnings: [],
    });
    expect((await client.sendMessage(agentId, 'lamp')).calls).toMatchObject([{ toolName: 'set_lamp' }]);
  });

  it.each([false, true])('asks again for JSON where the reply is prose (stream: %s)', async (stream) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph({ response_schema, stream }));
    const turn = await client.sendMessage(agentId, 'mood');
    expect(turn).toMatchObject({ text: '{"name": "Mira", "arguments": {}}', warnings: [], status: 'SUCCESS' });
    // The prose was ended after its first line.
    expect(turn.tokensGenerated).toBeLessThan(40);
    expect(shown(turn).length > 1).toBe(stream);
  });

  it.each([{ response_schema }, { stream: true }])('is refused without generate_on_no_tool: %j', async (params) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const graphJson = JSON.stringify(graph({ ...params, generate_on_no_tool: false }));
    const { message } = errorOf(await client.request('createAgent', { graphJson }));
    expect(message).toMatch(/params.(?:response_schema|stream) needs generate_on_no_tool/);
  });

  it('is refused for a schema that no grammar expresses', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const graphJson = JSON.stringify(graph({ response_schema: { not: {} } }));
    expect(errorOf(await client.request('createAgent', { graphJson })).message).toMatch(/response_schema.not/);
  });
});
