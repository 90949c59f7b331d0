import { describe, expect, it } from 'vitest';
import { useServer, TestClient, subprotocols } from '../helpers/server.ts';

const call = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

const server = useServer({
  script: [
    { match: '^Ask for', answer: 'Who should get it?' },
    { match: 'to my friend', answer: call('transfer', { amount: 500, recipient: 'Bob' }) },
    { match: '500 to Ada', answer: call('transfer', { amount: '500', recipient: 'Ada' }) },
    { match: 'an axe', answer: call('buy', { count: 1, room: 1 }) },
    { match: 'a dozen', answer: call('buy', { count: 12, room: 3 }) },
    {
      match: 'wrong digits',
      answer:
        '<tool_call>{"name": "transfer", "arguments": {"amount": 12345678901234567890.50, "on": "3"}}</tool_call>',
    },
    { match: 'both', answer: `${call('transfer', { amount: 500 })}\n${call('show_balance', {})}` },
    {
      match: 'to the harbour',
      answer: call('travel', { place: { town: 'Rome' }, bags: [{ kind: 'chest', count: 2 }] }),
    },
    { match: 'two chests', answer: call('travel', { place: { town: 'Rome' }, bags: [{ kind: 'chest', count: 2 }] }) },
    { match: 'unreadable', answer: '<tool_call>{"name": "transfer", "arguments": {"amount" 5}}</tool_call>' },
    { match: 'balance', answer: call('show_balance', { account: 'main' }) },
  ],
});

const graph = {
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        tools: [
          {
            name: 'transfer',
            description: 'Send money to a person.',
            consequential: true,
            parameters: [
              {
                name: 'amount',
                type: 'number',
                description: 'How much.',
                source: 'customer',
                significance: 'how much to send',
              },
              {
                name: 'recipient',
                type: 'string',
                description: 'Who gets it.',
                source: 'customer',
                significance: 'who should get it',
                examples: ['Ada'],
              },
            ],
          },
          { name: 'show_balance', description: 'Show how much there is.', parameters: [] },
          {
            name: 'buy',
            description: 'Buy things.',
            parameters: ['count', 'room'].map((name) => ({
              name,
              type: 'integer',
              source: 'customer',
              required: false,
            })),
          },
        ],
      },
      exits: { no_tool_called: 'ask' },
    },
    ask: {
      type: 'Generate',
      params: {
        placement: 'in_place_of_user',
        template:
          '{{#insights}}Ask for{{#missing}} {{name}}{{/missing}}{{#invalid}} {{name}} ({{significance}}){{/invalid}}.{{/insights}}{{^insights}}{{user_message}}{{/insights}}',
      },
    },
  },
};

/** As docs/tools.md has it. */
const cannedQuestion = {
  ask: {
    type: 'CannedResponse',
    params: {
      inline_strings: [
        '{{#insights}}Say{{#missing}} {{significance}}{{/missing}}{{#invalid}} {{significance}}{{/invalid}}. {{/insights}}',
      ],
    },
    exits: { default: 'asked' },
  },
  asked: {
    type: 'Guardrail',
    params: { watch: 'answer', inline_strings: [String.raw`\S`] },
    exits: { not_triggered: 'answer' },
  },
};

describe.each(subprotocols)('over %s, a call with invalid or missing arguments', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('knows quantities in words, but takes no article for the number of a room', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph);
    const issuesOf = async (message: string): Promise<readonly string[]> =>
      (await client.sendMessage(agentId, message)).calls.flatMap(({ issues }) =>
        issues.map(({ code, param }) => `${code} ${param}`),
      );
    expect(await issuesOf('send an axe to a room')).toEqual(['ungrounded_value room']);
    expect(await issuesOf('send a dozen to room three')).toEqual([]);
  });

  it('that cannot be read is for the next node a call that lacks all', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(graph), 'unreadable');
    expect(turn).toMatchObject({ calls: [], steps: 'detect:no_tool_called ask:default', text: 'Who should get it?' });
    expect(turn.events.map(({ eventType }) => eventType)).toEqual(['call_unread']);
  });

  it('becomes an insight event, and the next node asks for what is missing', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(graph), 'transfer 500 to my friend');
    expect(turn).toMatchObject({ calls: [], steps: 'detect:no_tool_called ask:default', text: 'Who should get it?' });
    expect(
      turn.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown]),
    ).toMatchObject([
      [
        'tool_insight',
        {
          tool: 'transfer',
          arguments: { amount: 500, recipient: 'Bob' },
          missing: [],
          invalid: [{ name: 'recipient', significance: 'who should get it', examples: ['Ada'], precedence: 0 }],
        },
      ],
      ['call_pending', { tool_name: 'transfer', arguments: { amount: 500 }, missing: [{ name: 'recipient' }] }],
    ]);
  });

  it('is asked about by a canned line, and without an insight the model answers', async () => {
    await using client = await connect();
    const agentId = await client.createAgent({
      ...graph,
      nodes: { detect: graph.nodes.detect, ...cannedQuestion, answer: { type: 'Generate' } },
    });
    expect(await client.sendMessage(agentId, 'transfer 500 to my friend')).toMatchObject({
      steps: 'detect:no_tool_called ask:default asked:triggered',
      text: 'Say who should get it. ',
    });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({
      steps: 'detect:no_tool_called ask:default asked:not_triggered answer:default',
      text: 'You said: hello',
    });
  });

  it('keeps the arguments in the insight as they were written', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(graph), 'wrong digits');
    expect(turn.events[0]?.payloadJson).toContain(
      '{"tool": "transfer", "arguments": {"amount": 12345678901234567890.50, "on": "3"}, "missing": [{"name": "recipient", ',
    );
  });

  it('is sent when all arguments are there, and marked as consequential', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(graph), 'transfer 500 to Ada');
    expect(turn).toMatchObject({ steps: 'detect:tool_called', events: [] });
    expect(turn.calls).toMatchObject([
      {
        toolName: 'transfer',
        consequential: true,
        typedArgumentsJson: '{"amount": 500, "recipient": "Ada"}',
        issues: [],
      },
    ]);
  });

  it('does not hold back another call of the same message', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(graph), 'both: transfer 500 and show me');
    expect(turn.steps).toBe('detect:tool_called');
    expect(turn.calls).toMatchObject([{ toolName: 'show_balance', consequential: false }]);
    expect(turn.events.map(({ eventType }) => eventType)).toEqual(['tool_insight', 'call_pending']);
  });

  it('is sent with its issues when the tool is not consequential', async () => {
    await using client = await connect();
    const { calls } = await client.sendMessage(await client.createAgent(graph), 'balance');
    expect(calls).toMatchObject([
      {
        toolName: 'show_balance',
        issues: [{ code: 'unexpected_param', param: 'account', message: 'account is no parameter of the tool' }],
      },
    ]);
  });
});

const travel = {
  type: 'function',
  function: {
    name: 'travel',
    description: 'Travel to a place.',
    parameters: {
      type: 'object',
      properties: {
        place: {
          type: 'object',
          properties: { town: { type: 'str', source: 'customer', significance: 'where to go', examples: ['Bree'] } },
          required: ['town'],
        },
        bags: {
          type: 'array',
          items: {
            type: 'object',
            properties: { kind: { type: 'string' }, count: { type: 'integer', source: 'customer', hidden: true } },
            required: ['kind', 'count'],
          },
        },
      },
      required: ['place'],
    },
  },
};

describe.each(subprotocols)('over %s, a tool in the form of OpenAI with nested parameters', (subprotocol) => {
  const withTool = (tool: object): object => ({
    ...graph,
    nodes: { ...graph.nodes, detect: { ...graph.nodes.detect, params: { tools: [tool] } } },
  });

  it('is checked and asked for at every depth', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const turn = await client.sendMessage(await client.createAgent(withTool(travel)), 'take me to the harbour');
    expect(turn).toMatchObject({ calls: [], steps: 'detect:no_tool_called ask:default' });
    expect(JSON.parse(turn.events[0]?.payloadJson ?? '')).toMatchObject({
      tool: 'travel',
      arguments: { place: { town: 'Rome' }, bags: [{ kind: 'chest', count: 2 }] },
      missing: [],
      invalid: [
        { name: 'place.town', significance: 'where to go', examples: ['Bree'], hidden: false },
        { name: 'bags[0].count', significance: '', hidden: true },
      ],
    });
  });

  it('is called when the user has said its nested values', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const turn = await client.sendMessage(await client.createAgent(withTool(travel)), 'to Rome with two chests');
    expect(turn.calls).toMatchObject([{ toolName: 'travel', known: true, issues: [] }]);
  });

  it('gives the agent a warning of a type name of Python, with its place', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(withTool(travel)) });
    expect(answer).toMatchObject({
      createAgent: {
        warnings: [
          'detect.params.tools[0].function.parameters.properties.place.properties.town.type is "str", which is read as "string"; write "string"',
        ],
      },
    });
  });

  it('gives no warning of its own "strict" where the node is strict', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const tool = { type: 'function', function: { name: 'wave', description: 'Wave.', strict: true } };
    const warningsWith = async (strict: boolean): Promise<unknown> => {
      const params = { tools: [tool], strict };
      const nodes = { ...graph.nodes, detect: { ...graph.nodes.detect, params } };
      return client.request('createAgent', { graphJson: JSON.stringify({ ...graph, nodes }) });
    };
    expect(await warningsWith(true)).toMatchObject({ createAgent: { warnings: [] } });
    expect(await warningsWith(false)).toMatchObject({
      createAgent: {
        warnings: [
          'detect.params.tools[0].function.strict is not used: "strict" of the node is for all its tools; set it there',
        ],
      },
    });
  });

  it('is refused together with other tools, each at its place', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const on = { name: 'on', type: 'boolean' };
    const tools = [
      { name: 'a', description: 'A.', parameters: [on, on] },
      { name: 'b', description: 'B.' },
      { function: { name: 'b', description: 'B.' } },
    ];
    const nodes = { ...graph.nodes, detect: { ...graph.nodes.detect, params: { tools } } };
    const answer = await client.request('createAgent', { graphJson: JSON.stringify({ ...graph, nodes }) });
    const detail = answer.body === 'error' ? (JSON.parse(answer.error.detail) as { readonly pointer: string }[]) : [];
    expect(detail.map(({ pointer }) => pointer)).toEqual([
      '/nodes/detect/params/tools/0/parameters/1/name',
      '/nodes/detect/params/tools/2/function/name',
    ]);
  });

  it('is refused with the place of an error inside it', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const invalid = structuredClone(travel);
    invalid.function.parameters.properties.place.properties.town.source = 'foo';
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(withTool(invalid)) });
    expect(answer).toMatchObject({
      error: {
        code: 3003,
        message:
          'detect.params.tools[0].function.parameters.properties.place.properties.town.source must be one of "customer", "context", "any", not "foo"',
        detail: expect.stringContaining(
          '"/nodes/detect/params/tools/0/function/parameters/properties/place/properties/town/source"',
        ) as string,
      },
    });
  });
});
