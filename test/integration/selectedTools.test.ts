import { describe, expect, it } from 'vitest';
import { keywords } from '../helpers/keywords.ts';
import { chatmlCall, notifications, result, scriptedEngine } from '../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'rope', node: 'detect', nth: 1, answer: chatmlCall('sell', { item: 'rope' }) },
  { match: 'rope', node: 'detect', nth: 2, answer: chatmlCall('pay', { coins: 3 }) },
  { match: 'steal', node: 'detect', answer: `Well. ${chatmlCall('pay', { coins: 3 })}` },
  { match: 'bribe', node: 'detect', nth: 1, answer: chatmlCall('fly', {}) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'Good day.' },
]);
const server = useServer({ engines: { mock: engine }, extension: { nodeTypes: [keywords] } });

const tools = [
  { name: 'sell', description: 'Sell an item.', parameters: [{ name: 'item', type: 'string' }] },
  { name: 'pay', description: 'Pay.', parameters: [{ name: 'coins', type: 'integer' }] },
  { name: 'greet', description: 'Greet.', parameters: [] },
];
const words = [
  { word: 'sold', tools: ['pay'] },
  { word: 'rope', tools: ['sell'] },
  { word: 'steal', tools: ['greet', 'sell', 'drop'] },
  { word: 'two', tools: ['greet', 'sell'] },
  { word: 'bribe', tools: ['pay'] },
];
const shop = (params: object = {}, exits: object = { no_tool_called: 'answer' }): object => ({
  start_node: 'select',
  nodes: {
    select: { type: 'Keywords', params: { words }, exits: { default: 'detect' } },
    detect: { type: 'ToolCall', params: { tools, tools_from: 'selection', ...params }, exits },
    answer: { type: 'Generate' },
  },
});
const offered = (): readonly string[] | undefined =>
  engine.prompts.at(-1)?.tools?.definitions.map(({ function: { name } }) => name);

describe.each(subprotocols)('over %s, a ToolCall node with "tools_from": "selection"', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('offers the selected ones of its tools, and the call names what brought its tool', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    const turn = await client.sendMessage(agentId, 'A rope, please.');
    expect(offered()).toEqual(['sell']);
    expect(turn).toMatchObject({
      steps: 'select:default detect:tool_called',
      calls: [{ toolName: 'sell', known: true, because: 'rope' }],
      warnings: [],
    });
  });

  it('offers them in its own order', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({}, {}));
    await client.sendMessage(agentId, 'two');
    expect(offered()).toEqual(['sell', 'greet']);
  });

  it.each([{}, { generate_on_no_tool: true }, { strict: true }])(
    'does not ask the model where nothing is selected, with %j',
    async (params) => {
      await using client = await connect();
      const agentId = await client.createAgent(shop(params));
      const asked = engine.prompts.length;
      const turn = await client.sendMessage(agentId, 'How are you?');
      expect(turn).toMatchObject({
        steps: 'select:default detect:no_tool_called answer:default',
        text: 'Good day.',
        warnings: [],
      });
      expect(engine.prompts).toHaveLength(asked + 1);
    },
  );

  it('does not ask the model where no node has selected anything', async () => {
    await using client = await connect();
    const agentId = await client.createAgent({ ...shop(), start_node: 'detect' });
    expect(await client.sendMessage(agentId, 'A rope, please.')).toMatchObject({
      steps: 'detect:no_tool_called answer:default',
      warnings: [],
    });
  });

  it.each([
    [
      'sell',
      'How are you?',
      'detect.params.tool_choice is "sell", and that tool is not selected in this turn (tools_from): the model was not asked; set tool_choice to "auto" if that may be',
    ],
    [
      'sell',
      'bribe',
      'detect.params.tool_choice is "sell", and that tool is not selected in this turn (tools_from): the model was not asked; set tool_choice to "auto" if that may be',
    ],
    [
      'required',
      'How are you?',
      'detect.params.tool_choice is "required", and no tool is selected in this turn (tools_from): the model was not asked; set tool_choice to "auto" if that may be',
    ],
  ])('warns that tool_choice "%s" cannot be met by what "%s" selects', async (tool_choice, text, warning) => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ tool_choice }));
    expect(await client.sendMessage(agentId, text)).toMatchObject({
      steps: 'select:default detect:no_tool_called answer:default',
      warnings: [warning],
    });
  });

  it('does not send a call of a tool that is not offered, and keeps its text', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    const turn = await client.sendMessage(agentId, 'steal');
    expect(turn).toMatchObject({
      calls: [],
      steps: 'select:default detect:no_tool_called answer:default',
      warnings: ['detect wrote a call of pay, which it does not offer in this turn'],
      events: [{ eventType: 'call_unread' }],
    });
    expect(turn.events[0]?.payloadJson).toContain('its tool is not offered in this turn');
  });

  it('is asked again with `retries` after a call of a tool that is not offered', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ retries: 1 }));
    const { events, calls } = await client.sendMessage(agentId, 'steal');
    expect(calls).toEqual([]);
    expect(events.map(({ eventType }) => eventType)).toEqual(['call_unread', 'tool_retry', 'call_unread']);
    expect(engine.prompts.at(-2)?.messages.at(-1)?.text).toContain('its tool is not offered in this turn');
  });

  it('still sends a call of a tool that it does not declare, as an unknown one', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    const { calls } = await client.sendMessage(agentId, 'bribe');
    expect(calls).toMatchObject([{ toolName: 'fly', known: false, because: '' }]);
  });

  it('is asked again with the last selection of the turn', async () => {
    await using client = await connect();
    const exits = { tool_called: 'select', no_tool_called: 'answer' };
    const agentId = await client.createAgent(shop({ await_results: true, tool_choice: 'required' }, exits));
    const requestId = client.send('sendMessage', { agentId, text: 'A rope, please.' });
    const [first] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...first, content: 'sold' })] });
    const [, second] = await notifications(client, requestId, 2);
    expect(offered()).toEqual(['pay']);
    expect(second).toMatchObject({ toolName: 'pay', because: 'sold' });
    await client.request('submitToolResults', { agentId, results: [result({ ...second, content: 'paid' })] });
    expect(await client.turnOf(requestId)).toMatchObject({
      steps:
        'select:default detect:tool_called select:default detect:tool_called select:default detect:no_tool_called answer:default',
      warnings: [],
    });
  });

  it('warns of none of its tools that are many, for only some are offered at once', async () => {
    await using client = await connect();
    const many = Array.from({ length: 12 }, (_, index) => ({ ...tools[0], name: `tool_${index}` }));
    const creations = ['selection', 'node'].map((tools_from) =>
      client.request('createAgent', { graphJson: JSON.stringify(shop({ tools: many, tools_from })) }),
    );
    expect(await Promise.all(creations)).toMatchObject([
      { createAgent: { warnings: [] } },
      {
        createAgent: {
          warnings: [
            'detect.params.tools has 12 entries: small models get lost above 8',
            expect.stringMatching(/^select selects tools, and no node after it offers only these/),
          ],
        },
      },
    ]);
  });

  it('is a warning where no node selects, or where a turn can end without a word', async () => {
    await using client = await connect();
    const graph = {
      start_node: 'detect',
      nodes: { detect: { type: 'ToolCall', params: { tools, tools_from: 'selection', generate_on_no_tool: true } } },
    };
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    expect(answer).toMatchObject({
      createAgent: {
        warnings: [
          expect.stringMatching(/^detect\.exits\.no_tool_called can end a turn/),
          expect.stringMatching(/^detect offers only selected tools, and no node that selects any leads to it/),
        ],
      },
    });
  });

  it('keeps where its tools come from', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    const paramsJson = JSON.stringify({ tools_from: 'node' });
    expect(errorOf(await client.request('changeParams', { agentId, nodeName: 'detect', paramsJson }))).toMatchObject({
      name: 'PARAM_NOT_MUTABLE',
    });
  });

  it('warms up without a selection', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ tool_choice: 'required' }), { warmUp: true });
    expect(await client.sendMessage(agentId, 'A rope, please.')).toMatchObject({ calls: [{ toolName: 'sell' }] });
  });
});
