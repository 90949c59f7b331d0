import { describe, expect, it } from 'vitest';
import { notifications, result } from '../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

const call = (args: object, name = 'set_light'): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

const porch = { lamp: 'porch', on: true };
const server = useServer({
  script: [
    { match: 'Porch on', answer: call(porch), confidence: 0.9 },
    { match: 'It is dark', answer: call(porch), confidence: 0.4 },
    { match: 'Hall on, and music', answer: call(porch) + call({}, 'play'), confidence: 0.4 },
    { match: 'Sing', answer: call({}, 'sing'), confidence: 0.4 },
    { match: 'The hall', answer: call({ lamp: 'hall', on: true }), confidence: 0.7 },
    { match: 'Music and a lamp', nth: 1, answer: call({}, 'play') + call({ on: true }) },
    { match: 'Music and a lamp', nth: 2, answer: call({}, 'free') },
    { match: '^Nope', answer: call(porch), confidence: 0.4 },
    { match: 'Be free', answer: call({ why: 'so' }, 'free'), confidence: 0.4 },
    { match: 'A lamp', answer: call({ on: true }), confidence: 0.4 },
    { match: 'Lamp and music', answer: `${call(porch)}${call({}, 'play')}`, choices: `${call(porch).length}-200:0.25` },
    { match: 'Just music', answer: call({}, 'play'), confidence: 0.9 },
    { match: 'Both of you|The first of you', node: 'act', answer: call(porch), confidence: 0.4 },
    { match: 'Both of you|The second of you', node: 'other', answer: call({}, 'play'), confidence: 0.4 },
    { match: 'Light and music', node: 'act', answer: call({ on: true }), confidence: 0.9 },
    { match: 'Light and music', node: 'other', answer: call({}, 'play'), confidence: 0.4 },
    { match: 'Unmeasured', answer: call(porch) },
    { match: '', answer: 'How are you?' },
  ],
});
const plainServer = useServer({ script: [{ answer: call(porch) }] });

const tools = [
  {
    name: 'set_light',
    description: 'Switches a lamp.',
    parameters: [
      { name: 'lamp', type: 'string', description: 'Which.' },
      { name: 'on', type: 'boolean', description: 'Whether it is on.' },
    ],
  },
  { name: 'play', description: 'Plays music.', parameters: [] },
];
const free = {
  name: 'free',
  description: 'Takes anything.',
  parameters: { type: 'object', properties: {}, additionalProperties: true },
};
const question =
  '{{#unsure}}Did you mean {{tool_name}}{{#arguments}} {{lamp}}{{/arguments}}?{{/unsure}}{{#insights}}insight{{/insights}}';

const graph = (params: object = {}, exits: object = { unsure: 'ask' }) => ({
  start_node: 'act',
  nodes: {
    act: { type: 'ToolCall', params: { tools, min_confidence: 0.5, ...params }, exits },
    ask: { type: 'CannedResponse', params: { inline_strings: [question] } },
  },
});

describe.each(subprotocols)('the confidence of a call over %s', (subprotocol) => {
  const open = () => TestClient.connect(server().url, subprotocol);

  it('is in its notification, where the model tells it', async () => {
    await using client = await open();
    const agent = await client.createAgent(graph({ min_confidence: 0 }));
    const sure = await client.sendMessage(agent, 'Porch on!');
    expect(sure.calls).toMatchObject([{ toolName: 'set_light', confidence: 0.9 }]);
    expect((await client.sendMessage(agent, 'It is dark.')).calls).toMatchObject([{ confidence: 0.4 }]);
    const [unmeasured] = (await client.sendMessage(agent, 'Unmeasured')).calls;
    expect(unmeasured).not.toHaveProperty('confidence');
  });

  it('keeps a call back if it is too low: the graph asks, and a yes sends the call without the model', async () => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    expect((await client.sendMessage(agent, 'Porch on!')).steps).toBe('act:tool_called');
    const asked = await client.sendMessage(agent, 'It is dark.');
    expect(asked.calls).toEqual([]);
    expect(asked.steps).toBe('act:unsure ask:default');
    expect(asked.text).toBe('Did you mean set_light porch?');
    expect(JSON.parse(asked.events.find(({ eventType }) => eventType === 'tool_insight')?.payloadJson ?? '')).toEqual({
      tool: 'set_light',
      arguments: porch,
      missing: [],
      invalid: [],
      confidence: 0.4,
    });
    const confirmed = await client.sendMessage(agent, 'Yes, please.');
    expect(confirmed.calls.map(({ typedArgumentsJson }) => JSON.parse(typedArgumentsJson) as unknown)).toEqual([porch]);
    expect(confirmed.tokensGenerated).toBe(0);
    expect(confirmed.events.map(({ eventType }) => eventType)).toEqual(['call_completed']);
    expect((await client.sendMessage(agent, 'Yes.')).calls).toEqual([]);
  });

  it.each([
    ['a no drops it', 'No, thanks.', [], 'act:no_tool_called'],
    ['another value takes its place', 'The hall.', [{ lamp: 'hall', on: true }], 'act:tool_called'],
    ['other words leave it', 'Why?', [], 'act:no_tool_called'],
  ])('lets the user decide: %s', async (_, message, expected, steps) => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    await client.sendMessage(agent, 'It is dark.');
    const turn = await client.sendMessage(agent, message);
    expect(turn.calls.map(({ typedArgumentsJson }) => JSON.parse(typedArgumentsJson) as unknown)).toEqual(expected);
    expect(turn.steps).toBe(steps);
  });

  it('does not ask about a call again that the user has just refused', async () => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    await client.sendMessage(agent, 'It is dark.');
    const refused = await client.sendMessage(agent, 'Nope.');
    expect(refused.steps).toBe('act:no_tool_called');
    expect(refused.events.map(({ eventType }) => eventType)).toEqual(['call_dropped']);
    expect((await client.sendMessage(agent, 'Yes.')).calls).toEqual([]);
  });

  it('sends after a yes what was asked about last, however often it was asked', async () => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    for (let time = 0; time < 3; time++)
      expect((await client.sendMessage(agent, 'It is dark.')).text).toBe('Did you mean set_light porch?');
    expect((await client.sendMessage(agent, 'Yes.')).calls).toHaveLength(1);
  });

  it.each([
    ['with arguments that its tool does not declare', { tools: [free], strict: false }, 'Be free!', { why: 'so' }],
    ['with what it lacks, where such calls are sent', { on_incomplete: 'notify' }, 'A lamp!', { on: true }],
  ])('sends a call as it was asked about: %s', async (_, params, message, expected) => {
    await using client = await open();
    const agent = await client.createAgent(graph(params));
    expect((await client.sendMessage(agent, message)).steps).toBe('act:unsure ask:default');
    const confirmed = await client.sendMessage(agent, 'Yes.');
    expect(confirmed.calls.map(({ typedArgumentsJson }) => JSON.parse(typedArgumentsJson) as unknown)).toEqual([
      expected,
    ]);
  });

  it('does not send after a yes what the tool allows no more', async () => {
    await using client = await open();
    const lamp = { name: 'lamp', type: 'string', description: 'Which.', enum_from: 'lamps' };
    const light = { ...tools[0], parameters: [lamp, { name: 'on', type: 'boolean', description: 'Whether.' }] };
    const agentId = await client.createAgent(graph({ tools: [light], strict: true }));
    const say = (text: string, lamps: object) => client.sendMessage(agentId, text, { lamps: JSON.stringify(lamps) });
    expect((await say('It is dark.', ['porch', 'hall'])).steps).toBe('act:unsure ask:default');
    expect((await say('Yes.', ['hall'])).calls).toEqual([]);
    expect((await say('Yes.', ['porch', 'hall'])).calls).toHaveLength(1);
  });

  it('offers the tool of the pending call also where the answer does not select it', async () => {
    await using client = await open();
    const { nodes } = graph({ tools_from: 'selection' });
    const guidelines = [{ name: 'night', patterns: ['dark'], tools: ['set_light'] }];
    const exits = { matched: 'act', none_matched: 'act' };
    const select = { type: 'SelectTools', params: { guidelines }, exits };
    const agent = await client.createAgent({ start_node: 'select', nodes: { select, ...nodes } });
    await client.sendMessage(agent, 'It is dark.');
    expect((await client.sendMessage(agent, 'Yes.')).calls).toMatchObject([{ toolName: 'set_light' }]);
    expect((await client.sendMessage(agent, 'Porch on!')).calls).toEqual([]);
  });

  it('is not over because a result leads to another call in the turn', async () => {
    await using client = await open();
    const params = { tools: [...tools, free], strict: false, await_results: true };
    const agentId = await client.createAgent(graph(params, { tool_called: 'act' }));
    const requestId = client.send('sendMessage', { agentId, text: 'Music and a lamp!' });
    for (const count of [1, 2]) {
      const call = (await notifications(client, requestId, count)).at(-1);
      await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'done' })] });
    }
    const { events } = await client.turnOf(requestId);
    expect(events.map(({ eventType }) => eventType)).toEqual(['tool_insight', 'call_pending']);
  });

  it('of several calls keeps back each that is too low, also of an unknown tool', async () => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    const both = await client.sendMessage(agent, 'Hall on, and music!');
    expect(both.text).toBe('Did you mean set_light porch?Did you mean play ?');
    expect((await client.sendMessage(agent, 'Sing!')).text).toBe('Did you mean sing ?');
    // What is missing is asked for first.
    const another = await client.createAgent(graph());
    expect((await client.sendMessage(another, 'A lamp!')).steps).toBe('act:no_tool_called');
  });

  it.each([
    ['all of one reply', 'Hall on, and music!', ['set_light', 'play']],
    ['one of an unknown tool', 'Sing!', ['sing']],
    ['what was held back beside a call that was sent', 'Lamp and music', ['play']],
  ])('sends after a yes %s', async (_, message, expected) => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    await client.sendMessage(agent, message);
    const confirmed = await client.sendMessage(agent, 'Yes, please.');
    expect(confirmed.calls.map(({ toolName }) => toolName)).toEqual(expected);
    expect(confirmed.events.map(({ eventType }) => eventType)).toEqual(expected.map(() => 'call_completed'));
    expect((await client.sendMessage(agent, 'Yes.')).calls).toEqual([]);
  });

  it.each([
    ['one of them drops the others', 'Just music', ['play'], ['call_completed', 'call_dropped']],
    ['a no drops all', 'No, thanks.', [], ['call_dropped', 'call_dropped']],
  ])('asks about several calls at once: %s', async (_, message, expected, events) => {
    await using client = await open();
    const agent = await client.createAgent(graph());
    await client.sendMessage(agent, 'Hall on, and music!');
    const turn = await client.sendMessage(agent, message);
    expect(turn.calls.map(({ toolName }) => toolName)).toEqual(expected);
    expect(turn.events.map(({ eventType }) => eventType)).toEqual(events);
    expect((await client.sendMessage(agent, 'Yes.')).calls).toEqual([]);
  });

  /** A graph whose two nodes may each be unsure. */
  function twoNodes(params: object = {}) {
    const { act, ask } = graph(params).nodes;
    const exits = { unsure: 'other', tool_called: 'other', no_tool_called: 'other' };
    const other = graph({ tools: tools.slice(1) }).nodes.act;
    return { start_node: 'act', nodes: { act: { ...act, exits }, other, ask } };
  }

  it('leaves the question of a node open when that of another node expires', async () => {
    await using client = await open();
    const agent = await client.createAgent(twoNodes({ pending_turns: 1 }));
    await client.sendMessage(agent, 'Light and music.');
    const expired = await client.sendMessage(agent, 'The sky is blue.');
    expect(expired.events.map(({ eventType, nodeName }) => `${nodeName} ${eventType}`)).toEqual(['act call_dropped']);
    expect((await client.sendMessage(agent, 'Yes.')).calls.map(({ toolName }) => toolName)).toEqual(['play']);
  });

  it('of two nodes is sent by a yes to both, and an older question is over when another one is asked', async () => {
    await using client = await open();
    const agent = await client.createAgent(twoNodes());
    await client.sendMessage(agent, 'Both of you');
    const both = await client.sendMessage(agent, 'Yes.');
    expect(both.calls.map(({ toolName }) => toolName)).toEqual(['set_light', 'play']);
    await client.sendMessage(agent, 'The first of you');
    const second = await client.sendMessage(agent, 'The second of you');
    expect(second.events.map(({ eventType }) => eventType)).toEqual(['tool_insight', 'call_pending', 'call_dropped']);
    expect((await client.sendMessage(agent, 'Yes.')).calls.map(({ toolName }) => toolName)).toEqual(['play']);
  });

  it('can be asked for while the agent lives, and without the exit unsure the turn ends', async () => {
    await using client = await open();
    const agent = await client.createAgent(graph({ min_confidence: 0 }, {}));
    expect((await client.sendMessage(agent, 'It is dark.')).calls).toHaveLength(1);
    await client.request('changeParams', {
      agentId: agent,
      nodeName: 'act',
      paramsJson: JSON.stringify({ min_confidence: 0.5 }),
    });
    expect((await client.sendMessage(agent, 'It is dark.')).steps).toBe('act:unsure');
  });

  it('refuses what is no probability, and warns where the model tells none', async () => {
    await using client = await open();
    await expect(client.createAgent(graph({ min_confidence: 2 }))).rejects.toThrow(
      /act\.params\.min_confidence must be <= 1/,
    );
    await using other = await TestClient.connect(plainServer().url, subprotocol);
    const created = await other.request('createAgent', { graphJson: JSON.stringify(graph({ min_confidence: 0.5 })) });
    expect(JSON.stringify(created)).toContain('act.params.min_confidence has no effect, and all calls are sent');
  });
});
