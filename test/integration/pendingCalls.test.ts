import { describe, expect, it } from 'vitest';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

const call = (args: object, name = 'transfer'): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** What the model writes to a message: as a free reply, and where it is asked for what is missing alone. */
const replies: Readonly<Record<string, readonly [string, string?]>> = {
  'Send gold to Ada.': [call({ recipient: 'Ada' })],
  'Send money to Ada, she waits.': [call({ recipient: 'Ada', amount: 7 })],
  'Send 50.': [call({ amount: 50 })],
  'Send money.': [call({})],
  '50 gold': [call({ recipient: 'Gold', amount: 50 })],
  '20 coins': [call({ recipient: 'coins', amount: 20 })],
  'Make it 20.': ['How kind.', call({ recipient: 'Ada', amount: 20 })],
  'Well, 20 to Bob.': [call({ recipient: 'Bob', amount: 20 })],
  'Soon.': ['I see.', call({ recipient: 'Ada', amount: 99 })],
  'Oh, never mind!': [call({ recipient: 'Ada', amount: 1 }), call({ recipient: 'Ada', amount: 1 })],
  '20. Bob gets it.': [call({ recipient: 'Bob', amount: 20 })],
  'I changed my mind: Ada gets 20.': [call({ recipient: 'Ada', amount: 20 })],
  'No, to Bob.': [call({ recipient: 'Bob' })],
  'To player 3.': [call({ recipient: 'player 3', amount: 3 })],
  'Twenty to each of Ada and Bob.': [
    `${call({ recipient: 'Bob', amount: 20 })}${call({ recipient: 'Ada', amount: 20 })}`,
  ],
  '20 for Bob, says Bob.': [call({ note: 'for Bob', recipient: 'Bob', amount: 20 })],
  'Hm.': [call({ recipient: 'Ada', amount: 8 })],
  'I would rather not.': ['As you like.', call({ recipient: 'Ada', amount: null })],
  'To Lee.': ['Good.', call({ recipient: 'Lee', amount: null })],
  'It is 3.': ['Good.', call({ recipient: '3', amount: 3 })],
  'Show my balance.': [call({}, 'show_balance')],
  'Number 3 gets 3.': ['Good.', call({ recipient: '3', amount: 3 })],
};
const patternOf = (text: string): string => `^${text.replaceAll('.', '\\.')}$`;
const server = useServer({
  script: Object.entries(replies).flatMap(([text, [free, asked = 'Nothing.']]) => [
    { match: patternOf(text), nth: 2, answer: asked },
    { match: patternOf(text), answer: free },
  ]),
});

const parameters = [
  {
    name: 'amount',
    type: 'number',
    description: 'How much.',
    source: 'customer',
    precedence: 2,
    significance: 'how much',
  },
  {
    name: 'recipient',
    type: 'string',
    description: 'To whom.',
    source: 'customer',
    precedence: 1,
    significance: 'who',
  },
  { name: 'note', type: 'string', description: 'Why.', required: false },
];
const transfer = { name: 'transfer', description: 'Sends money.', consequential: true, parameters };
const balance = { name: 'show_balance', description: 'Shows the balance.', parameters: [] };
const line =
  '{{#pending}}{{tool_name}} {{#arguments}}{{recipient}}{{amount}}{{/arguments}} lacks {{#missing}}{{significance}},{{/missing}}{{/pending}}';

const graph = (params: object = {}) => ({
  start_node: 'act',
  nodes: {
    act: {
      type: 'ToolCall',
      params: { tools: [transfer, balance], ...params },
      exits: { tool_called: 'say', no_tool_called: 'say' },
    },
    say: { type: 'CannedResponse', params: { inline_strings: [line] } },
  },
});

describe.each(subprotocols)('a pending call over %s', (subprotocol) => {
  /** Sends messages one after the other. Returns what happened in each turn: its calls, its events, its text. */
  const outcomes = async (
    client: TestClient,
    agentId: number,
    messages: readonly string[],
  ): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (const message of messages) {
      const begin = client.received.length;
      const { text } = await client.sendMessage(agentId, message);
      for (const frame of client.received.slice(begin)) {
        if (frame.body === 'toolCallNotification')
          seen.push(JSON.stringify(JSON.parse(frame.toolCallNotification.typedArgumentsJson)));
        if (frame.body === 'nodeEvent' && frame.nodeEvent.eventType.startsWith('call_')) {
          const { reason = '', arguments: args } = JSON.parse(frame.nodeEvent.payloadJson) as {
            readonly reason?: string;
            readonly arguments?: object;
          };
          seen.push(`${frame.nodeEvent.eventType} ${args ? JSON.stringify(args) : reason}`);
        }
      }
      if (text !== '') seen.push(text);
    }
    return seen;
  };

  const pendingAda = ['call_pending {"recipient":"Ada"}', 'transfer Ada lacks how much,'];

  it.each<[string, readonly string[], readonly string[]]>([
    [
      'is completed by a call of its tool, and a word that was said before does not replace its value',
      ['Send gold to Ada.', '50 gold'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 50, recipient: 'Ada' }),
        'call_completed {"amount":50,"recipient":"Ada"}',
      ],
    ],
    [
      'does not take the unit of a number for another value',
      ['Send gold to Ada.', '20 coins'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 20, recipient: 'Ada' }),
        'call_completed {"amount":20,"recipient":"Ada"}',
      ],
    ],
    [
      'takes what is said newly in place of its own values',
      ['Send gold to Ada.', 'Well, 20 to Bob.'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 20, recipient: 'Bob' }),
        'call_completed {"amount":20,"recipient":"Bob"}',
      ],
    ],
    [
      'is completed by a question for what is missing, if the model calls nothing',
      ['Send gold to Ada.', 'Make it 20.'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 20, recipient: 'Ada' }),
        'call_completed {"amount":20,"recipient":"Ada"}',
      ],
    ],
    [
      'does not take a value that the message does not have',
      ['Send gold to Ada.', 'Soon.'],
      [...pendingAda, 'transfer Ada lacks how much,'],
    ],
    [
      'keeps no value that the user never said',
      ['Send money to Ada, she waits.', 'Make it 20.'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 20, recipient: 'Ada' }),
        'call_completed {"amount":20,"recipient":"Ada"}',
      ],
    ],
    [
      'is dropped by a refusal',
      ['Send gold to Ada.', 'I would rather not.', 'Make it 20.'],
      [...pendingAda, 'call_dropped declined'],
    ],
    [
      'is dropped by a refusal, whatever the model makes of it',
      ['Send gold to Ada.', 'Oh, never mind!', 'Make it 20.'],
      [...pendingAda, 'call_dropped declined'],
    ],
    [
      'takes no name after a full stop for the unit of a number',
      ['Send gold to Ada.', '20. Bob gets it.'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 20, recipient: 'Bob' }),
        'call_completed {"amount":20,"recipient":"Bob"}',
      ],
    ],
    [
      'takes a value back that was said before',
      ['Send gold to Ada.', 'No, to Bob.', 'I changed my mind: Ada gets 20.'],
      [
        ...pendingAda,
        'call_pending {"recipient":"Bob"}',
        'transfer Bob lacks how much,',
        JSON.stringify({ amount: 20, recipient: 'Ada' }),
        'call_completed {"amount":20,"recipient":"Ada"}',
      ],
    ],
    [
      'completes one call of a reply, the one that agrees with it',
      ['Send gold to Ada.', 'Twenty to each of Ada and Bob.'],
      [
        ...pendingAda,
        JSON.stringify({ recipient: 'Bob', amount: 20 }),
        JSON.stringify({ amount: 20, recipient: 'Ada' }),
        'call_completed {"recipient":"Bob","amount":20}',
      ],
    ],
    [
      'gives the words of a message to what is required first',
      ['Send gold to Ada.', '20 for Bob, says Bob.'],
      [
        ...pendingAda,
        JSON.stringify({ amount: 20, recipient: 'Bob', note: 'for Bob' }),
        'call_completed {"amount":20,"recipient":"Bob","note":"for Bob"}',
      ],
    ],
    [
      'gives a number in a name to the name only',
      ['Send money.', 'To player 3.'],
      [
        'call_pending {}',
        'transfer  lacks who,how much,',
        'call_pending {"recipient":"player 3"}',
        'transfer player 3 lacks how much,',
      ],
    ],
    [
      'makes no progress with values that nobody said',
      ['Send money to Ada, she waits.', 'Hm.', 'Hm.'],
      [...pendingAda, 'transfer Ada lacks how much,', 'call_dropped expired'],
    ],
    [
      'is dropped by a call of another tool',
      ['Send gold to Ada.', 'Show my balance.'],
      [...pendingAda, '{}', 'call_dropped other_call'],
    ],
    [
      'is dropped after two turns without progress',
      ['Send gold to Ada.', 'Soon.', 'Soon.', 'Make it 20.'],
      [...pendingAda, 'transfer Ada lacks how much,', 'call_dropped expired'],
    ],
    [
      'asks in the order of precedence, and lives on with each value that comes',
      ['Send money.', 'To Lee.', 'Soon.', 'It is 3.'],
      [
        'call_pending {}',
        'transfer  lacks who,how much,',
        'call_pending {"recipient":"Lee"}',
        'transfer Lee lacks how much,',
        'transfer Lee lacks how much,',
        JSON.stringify({ amount: 3, recipient: 'Lee' }),
        'call_completed {"amount":3,"recipient":"Lee"}',
      ],
    ],
    [
      'lets a word that is there twice fill two parameters',
      ['Send money.', 'Number 3 gets 3.'],
      [
        'call_pending {}',
        'transfer  lacks who,how much,',
        JSON.stringify({ amount: 3, recipient: '3' }),
        'call_completed {"amount":3,"recipient":"3"}',
      ],
    ],
    [
      'lets one word fill one parameter only',
      ['Send money.', 'It is 3.'],
      [
        'call_pending {}',
        'transfer  lacks who,how much,',
        'call_pending {"recipient":"3"}',
        'transfer 3 lacks how much,',
      ],
    ],
  ])('%s', async (_, messages, expected) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph());
    expect(await outcomes(client, agentId, messages)).toEqual(expected);
  });

  it('is kept for as many turns as the graph says, and changes that between turns', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph({ pending_turns: 1 }));
    const forOne = await outcomes(client, agentId, ['Send gold to Ada.', 'Soon.', 'Make it 20.']);
    expect(forOne).toEqual([...pendingAda, 'call_dropped expired']);
    const paramsJson = JSON.stringify({ keep_pending: false });
    await client.request('changeParams', { agentId, nodeName: 'act', paramsJson });
    expect(await outcomes(client, agentId, ['Send gold to Ada.', 'Make it 20.'])).toEqual([]);
  });

  it('is not sent as it is when the user agrees, also where its tool is gone', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph());
    await outcomes(client, agentId, ['Send gold to Ada.']);
    const paramsJson = JSON.stringify({ tools: [balance] });
    await client.request('changeParams', { agentId, nodeName: 'act', paramsJson });
    expect(await outcomes(client, agentId, ['Yes, please.', 'Yes.'])).toEqual([
      'transfer Ada lacks how much,',
      'call_dropped expired',
    ]);
  });

  it('that was completed in a turn that later turns forget is over', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const { nodes, ...others } = graph();
    const exits = { tool_called: 'forget', no_tool_called: 'say' };
    const forget = { type: 'Guardrail', params: { inline_strings: ['20 coins'], forget: true } };
    const agentId = await client.createAgent({ ...others, nodes: { ...nodes, act: { ...nodes.act, exits }, forget } });
    const begun = await outcomes(client, agentId, ['Send gold to Ada.', '20 coins']);
    expect(begun).toContain('call_completed {"amount":20,"recipient":"Ada"}');
    expect(await outcomes(client, agentId, ['Make it 20.'])).toEqual([]);
  });

  it('outlives lines and messages that people answer', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph());
    await outcomes(client, agentId, ['Send gold to Ada.']);
    await client.request('setAgentMode', { agentId, mode: 'MANUAL' });
    await client.sendMessage(agentId, 'Soon.');
    await client.request('appendText', { agentId, text: 'Take your time.', role: 'assistant' });
    await client.request('setAgentMode', { agentId, mode: 'AUTO' });
    expect(await outcomes(client, agentId, ['Make it 20.'])).toContain(
      'call_completed {"amount":20,"recipient":"Ada"}',
    );
  });

  it('goes with the dialog: into an export and another agent, and away when it is cleared', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph());
    await outcomes(client, agentId, ['Send gold to Ada.']);
    await client.request('exportDialog', { agentId });
    const { historyJson } = await client.receive('exportDialog');
    const loaded = await client.createAgent(graph(), { historyJson });
    const completed = [
      JSON.stringify({ amount: 20, recipient: 'Ada' }),
      'call_completed {"amount":20,"recipient":"Ada"}',
    ];
    expect(await outcomes(client, loaded, ['Make it 20.'])).toEqual(completed);
    await client.request('clearDialog', { agentId });
    expect(await outcomes(client, agentId, ['Make it 20.'])).toEqual([]);
  });

  it('that no export can have is refused with its place', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const pending = [{ node: 'act', tool_name: 'transfer', arguments_json: '[]', missing: [], turns_left: 1 }];
    const historyJson = JSON.stringify([{ user: 'Hello.', assistant: 'Hello.', agent: { pending } }]);
    const response = await client.request('createAgent', { graphJson: JSON.stringify(graph()), historyJson });
    expect(JSON.stringify(response)).toContain('[0].agent.pending[0].arguments_json');
  });
});
