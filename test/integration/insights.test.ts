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
    { match: 'both', answer: `${call('transfer', { amount: 500 })}\n${call('show_balance', {})}` },
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
          missing: [],
          invalid: [{ name: 'recipient', significance: 'who should get it', examples: ['Ada'], precedence: 0 }],
        },
      ],
    ]);
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
    expect(turn.events).toHaveLength(1);
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
