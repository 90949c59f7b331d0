import { describe, expect, it } from 'vitest';
import { house, houseGuidelines, houseTools } from '../../helpers/guidelineGraphs.ts';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer, type TurnResult } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'announce', node: 'serve', nth: 1, answer: chatmlCall('announce_guest', {}) },
  { match: 'brew', node: 'serve', answer: chatmlCall('brew_tea', {}) },
  { match: 'dim', node: 'serve', answer: chatmlCall('dim_light', {}) },
  { match: '', node: 'serve', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'Very well.' },
]);
const server = useServer({ engines: { mock: engine } });

/** The names of the tools in each prompt that has tools, since a prompt. */
const offeredSince = (start: number): readonly (readonly string[])[] =>
  engine.prompts
    .slice(start)
    .flatMap(({ tools }) => (tools ? [tools.definitions.map(({ function: f }) => f.name)] : []));

const [lights, kitchen, garden, visitors] = ['lights', 'kitchen', 'garden', 'visitors'].map(
  (topic) => houseGuidelines.find(({ name }) => name === topic)?.tools ?? [],
);

describe.each(subprotocols)('over %s, SelectTools', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const changeParams = (client: TestClient, agentId: number, nodeName: string, params: object) =>
    client.request('changeParams', { agentId, nodeName, paramsJson: JSON.stringify(params) });

  /** Plays a turn and returns it with the tools that each of its prompts offers. A call gets the result. */
  async function play(
    client: TestClient,
    agentId: number,
    text: string,
    content?: string,
  ): Promise<TurnResult & { readonly offered: readonly (readonly string[])[] }> {
    const start = engine.prompts.length;
    const requestId = client.send('sendMessage', { agentId, text });
    if (content !== undefined) {
      const [call] = await notifications(client, requestId, 1);
      const ok = !content.startsWith('no:');
      await client.request('submitToolResults', { agentId, results: [result({ ...call, ok, content })] });
    }
    const turn = await client.turnOf(requestId);
    return { ...turn, offered: offeredSince(start) };
  }

  it.each([
    ['Look after the garden.', [garden]],
    ['The GARDEN, and the Lights.', [[...(lights ?? []), ...(garden ?? [])]]],
    ['Are there gardeners?', []],
  ])('offers only the tools of the guidelines that match, in their order: %s', async (text, offered) => {
    await using client = await connect();
    const agentId = await client.createAgent(house());
    expect(await play(client, agentId, text)).toMatchObject({ offered, warnings: [], text: 'Very well.' });
  });

  it('knows words of every script, and letters that look alike if it is told to', async () => {
    await using client = await connect();
    const guidelines = [{ name: 'garden', patterns: ['\\bсад\\b', '\\bgarden\\b'], tools: garden }];
    const offeredTo = async (select: object, text: string) => {
      const agentId = await client.createAgent(house({ select: { guidelines, ...select } }));
      return (await play(client, agentId, text)).offered;
    };
    expect(await offeredTo({}, 'Где САД?')).toEqual([garden]);
    expect(await offeredTo({}, 'Где посадки?')).toEqual([]);
    expect(await offeredTo({ fold: 'confusables' }, 'the gаrdеn')).toEqual([garden]);
  });

  it('makes the prompt as small as if the node had no other tool', async () => {
    await using client = await connect();
    const tokensOf = async (graph: object): Promise<number> => {
      const agentId = await client.createAgent(graph);
      return (await client.sendMessage(agentId, 'Look after the garden.')).tokensPrompt;
    };
    const selected = await tokensOf(house());
    const tools = houseTools.filter(({ name }) => garden?.some((tool) => tool === name));
    const node = { tools_from: 'node' };
    expect(selected).toBe(await tokensOf(house({ serve: { ...node, tools }, select: { guidelines: [] } })));
    expect(selected).toBeLessThan(await tokensOf(house({ serve: node })));
  });

  it('asks no model where no guideline matches, and replaces an earlier selection by none', async () => {
    await using client = await connect();
    const graph = house();
    const again = { type: 'SelectTools', params: { guidelines: [] }, exits: { none_matched: 'serve' } };
    const { select, ...nodes } = graph.nodes;
    const agentId = await client.createAgent({
      start_node: 'select',
      nodes: { select: { ...select, exits: { matched: 'again', none_matched: 'answer' } }, again, ...nodes },
    });
    expect(await play(client, agentId, 'Hello.')).toMatchObject({
      offered: [],
      steps: 'select:none_matched answer:default',
    });
    expect(await play(client, agentId, 'Look after the garden.')).toMatchObject({
      offered: [],
      steps: 'select:matched again:none_matched serve:no_tool_called answer:default',
    });
  });

  it('names in `because` the first guideline that brought the tool', async () => {
    await using client = await connect();
    const late = { name: 'late', patterns: ['dim', 'kitchen'], tools: ['dim_light', 'brew_tea'] };
    const agentId = await client.createAgent(house({ select: { guidelines: [...houseGuidelines, late] } }));
    const because = async (text: string) => (await play(client, agentId, text)).calls.map((call) => call.because);
    expect(await because('dim it')).toEqual(['late']);
    expect(await because('dim the lights')).toEqual(['lights']);
    expect(await because('brew tea in the kitchen')).toEqual(['kitchen']);
  });

  it('selects each tool once, at most max_tools of them, and says which it leaves out', async () => {
    await using client = await connect();
    const late = { name: 'late', patterns: ['.'], tools: ['dim_light', 'brew_tea', 'take_coat'] };
    const select = { guidelines: [...houseGuidelines, late], max_tools: 4 };
    const agentId = await client.createAgent(house({ select }));
    expect(await play(client, agentId, 'Dim the lights.')).toMatchObject({
      offered: [[...(lights ?? []), 'brew_tea']],
      warnings: ['select.params.max_tools is 4, so these tools are not selected: take_coat; raise it'],
    });
    expect((await changeParams(client, agentId, 'select', { max_tools: 5 })).body).toBe('ack');
    expect(await play(client, agentId, 'Dim the lights.')).toMatchObject({
      offered: [[...(lights ?? []), 'brew_tea', 'take_coat']],
      warnings: [],
    });
  });

  it('selects at most eight tools by default', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(house());
    const turn = await play(client, agentId, 'Lights, kitchen, garden, visitors!');
    expect(turn.offered).toEqual([[...(lights ?? []), ...(kitchen ?? []), 'rake_leaves', 'clip_hedge']]);
    expect(turn.warnings).toEqual([
      'select.params.max_tools is 8, so these tools are not selected: feed_birds, open_door, take_coat, announce_guest; raise it',
    ]);
  });

  describe('on a loop', () => {
    const first = { name: 'visitors', patterns: ['announce'], tools: visitors ?? [] };
    const second = (patterns: readonly string[]) => ({ name: 'tea', patterns, tools: ['brew_tea'] });
    const loop = (patterns: readonly string[]) =>
      house({ loops: true, select: { guidelines: [first, second(patterns)] } });

    it.each([
      ['the content of a result', '^library$', 'library'],
      ['a result with the name of its tool', '^Result of announce_guest: lib', 'library'],
      ['the result of a call that failed', '^Result of announce_guest: Error', 'no: nobody is there'],
      ['a part of a JSON result', '"room": ?"library"', '{"room":"library"}'],
    ])('opens a guideline by %s', async (_, pattern, content) => {
      await using client = await connect();
      const agentId = await client.createAgent(loop([pattern]));
      expect(await play(client, agentId, 'Please announce her.', content)).toMatchObject({
        offered: [visitors, ['brew_tea', ...(visitors ?? [])]],
        steps: 'select:matched serve:tool_called select:matched serve:no_tool_called answer:default',
      });
    });

    it('does not open a guideline by a result of an earlier turn', async () => {
      await using client = await connect();
      const agentId = await client.createAgent(loop(['library']));
      await play(client, agentId, 'Please announce her.', 'library');
      expect(await play(client, agentId, 'Please announce.', 'kitchen')).toMatchObject({
        offered: [visitors, visitors],
      });
    });
  });

  it('takes changed guidelines at the next turn, which then reuses less of its prompt', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(house());
    const text = 'Look after the garden.';
    await client.sendMessage(agentId, text);
    const same = await play(client, agentId, text);
    const guidelines = [{ name: 'outside', patterns: ['garden'], tools: ['feed_birds', 'clip_hedge'] }];
    expect((await changeParams(client, agentId, 'select', { guidelines })).body).toBe('ack');
    const changed = await play(client, agentId, text);
    expect(changed.offered).toEqual([['clip_hedge', 'feed_birds']]);
    expect(changed.tokensReused).toBeLessThan(same.tokensReused);
    const again = await play(client, agentId, text);
    expect(again.tokensReused).toBeGreaterThan(changed.tokensReused);
  });

  it('goes on without a tool that its node no longer has, says so, and takes it again', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(house());
    const tools = houseTools.filter(({ name }) => name !== 'clip_hedge');
    expect((await changeParams(client, agentId, 'serve', { tools })).body).toBe('ack');
    const turn = await play(client, agentId, 'Look after the garden.');
    expect(turn.offered).toEqual([['rake_leaves', 'feed_birds']]);
    expect(turn.warnings).toEqual([
      'select.params.guidelines names tools that no node declares any more: clip_hedge; change it, too',
    ]);
    // A change of another parameter is no reason to refuse the guidelines.
    expect((await changeParams(client, agentId, 'select', { max_tools: 2 })).body).toBe('ack');
    expect((await play(client, agentId, 'Look after the garden.')).warnings).toHaveLength(1);
    await changeParams(client, agentId, 'serve', { tools: houseTools });
    expect(await play(client, agentId, 'Look after the garden.')).toMatchObject({
      offered: [['rake_leaves', 'clip_hedge']],
      warnings: ['select.params.max_tools is 2, so these tools are not selected: feed_birds; raise it'],
    });
  });

  it('tells templates the guidelines and their actions, as plain text', async () => {
    await using client = await connect();
    const [first, ...others] = houseGuidelines;
    const guidelines = [
      { ...first, action: 'Say {{user_message}}.' },
      ...others,
      { name: 'bare', patterns: ['.'], tools: [] },
    ];
    const { start_node, nodes } = house({ select: { guidelines } });
    const template = '{{#guidelines}}[{{name}}: {{action}}]{{/guidelines}}';
    const agentId = await client.createAgent({
      start_node,
      nodes: { ...nodes, answer: { type: 'Generate', params: { template } } },
    });
    await client.sendMessage(agentId, 'The garden and the lights.');
    expect(lastPrompt(engine)).toContain('system: [lights: Say {{user_message}}.][garden: Mind the garden.][bare: ]');
  });

  it('reports what it selected when diagnostics are on, and only then', async () => {
    await using client = await connect();
    const eventsOf = async (enableDiagnostics: boolean) => {
      const agentId = await client.createAgent(house({ select: { max_tools: 1 } }), { enableDiagnostics });
      const { events } = await client.sendMessage(agentId, 'Look after the garden.');
      return events.filter(({ eventType }) => eventType === 'tools_selected');
    };
    expect(await eventsOf(false)).toEqual([]);
    const [event] = await eventsOf(true);
    expect(event).toMatchObject({ nodeName: 'select', part: 1, of: 1 });
    expect(JSON.parse(event?.payloadJson ?? '')).toEqual({
      guidelines: [{ name: 'garden' }],
      not_matched: [{ name: 'lights' }, { name: 'kitchen' }, { name: 'visitors' }],
      tools: [{ name: 'rake_leaves', because: 'garden' }],
      cut: ['clip_hedge', 'feed_birds'],
    });
  });
});
