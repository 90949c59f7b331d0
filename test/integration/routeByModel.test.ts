import { describe, expect, it } from 'vitest';
import type { Engine, Model, Sequence } from '../../src/inference/contract/engine.ts';
import { oneDayMs, override, type ScriptLine } from '../helpers/heldEngine.ts';
import { chatmlCall, lastPrompt, notifications, result, scriptedEngine } from '../helpers/resultGraphs.ts';
import { setLight } from '../helpers/graphs.ts';
import { routed, routesOf } from '../helpers/routeGraphs.ts';
import { startTestServer, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const script: readonly ScriptLine[] = [
  { match: 'slow', scores: { order: 1 }, delay_ms: oneDayMs },
  { match: 'sure', scores: { order: 0.08, complain: 0.01, chat: 0.01 } },
  { match: 'doubt', scores: { order: 0.3, complain: 0.2, chat: 0.5 } },
  { match: 'tie', scores: { chat: 0.3, complain: 0.3 } },
  { match: 'porch', node: 'act', answer: chatmlCall('set_light', { name: 'porch', on: true }) },
  { match: 'porch', scores: { chat: 1 } },
  { match: '', answer: 'Spoken.' },
];
const engine = scriptedEngine(script);
const server = useServer({ engines: { mock: engine } });

const shop = [
  { name: 'order', when: 'the user wants to buy something', examples: ['two beers', "I'll take it"] },
  { name: 'complain' },
  { name: 'chat', when: 'anything else' },
];

describe.each(subprotocols)('a Route by a model, over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('takes the exit of the most probable label, with probabilities of all labels that sum to 1', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(routed(shop)), 'I am sure.');
    expect(turn).toMatchObject({ text: 'label: order', steps: 'sort:order say:default', tokensGenerated: 0 });
    const [{ label, probabilities = {} } = { label: '' }, ...others] = routesOf(turn);
    expect(others).toEqual([]);
    expect(label).toBe('order');
    expect(Object.keys(probabilities)).toEqual(['order', 'complain', 'chat']);
    expect(probabilities).toEqual({
      order: expect.closeTo(0.8, 6) as number,
      complain: expect.closeTo(0.1, 6) as number,
      chat: expect.closeTo(0.1, 6) as number,
    });
    expect(turn.tokensPrompt).toBeGreaterThan(0);
  });

  it('takes the first of two labels that are equally probable', async () => {
    await using client = await connect();
    expect((await client.sendMessage(await client.createAgent(routed(shop)), 'a tie')).steps).toBe(
      'sort:complain say:default',
    );
  });

  it('takes not_matched when the most probable label is below the threshold, which is live', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(routed(shop, { threshold: 0.6 }));
    const turn = await client.sendMessage(agentId, 'I doubt it.');
    expect(turn).toMatchObject({ text: 'label: ', steps: 'sort:not_matched say:default' });
    expect(routesOf(turn)).toMatchObject([{ label: '', probabilities: { chat: expect.closeTo(0.5, 6) as number } }]);
    await client.request('changeParams', { agentId, nodeName: 'sort', paramsJson: '{"threshold": 0.4}' });
    expect((await client.sendMessage(agentId, 'I doubt it.')).steps).toBe('sort:chat say:default');
  });

  it('asks for one label, after the dialog', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(routed(shop));
    await client.sendMessage(agentId, 'I am sure.');
    await client.sendMessage(agentId, 'I doubt it.');
    expect(lastPrompt(engine)).toEqual([
      [
        "system: Read the user's message and reply with one label only.",
        '',
        'Labels:',
        '- order: the user wants to buy something, such as "two beers", "I\'ll take it"',
        '- complain',
        '- chat: anything else',
      ].join('\n'),
      'user: I am sure.',
      'assistant: label: order',
      'user: I doubt it.',
    ]);
  });

  it('asks about the message, not about results of the turn', async () => {
    await using client = await connect();
    const { nodes } = routed(shop);
    const act = {
      type: 'ToolCall',
      params: { tools: [setLight], await_results: true },
      exits: { tool_called: 'sort', no_tool_called: 'sort', no_results: 'sort' },
    };
    const agentId = await client.createAgent({ start_node: 'act', nodes: { act, ...nodes } });
    const requestId = client.send('sendMessage', { agentId, text: 'porch' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'it is on' })] });
    expect((await client.turnOf(requestId)).steps).toBe('act:tool_called sort:chat say:default');
    expect(lastPrompt(engine).slice(1)).toEqual(['user: porch']);
  });

  it('is an inference of the turn, with prompt and scores in its event', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(routed(shop), { enableDiagnostics: true });
    const turn = await client.sendMessage(agentId, 'I am sure.');
    const names = turn.events.map(({ eventType }) => eventType);
    expect(names).toEqual(['inference', 'route']);
    expect(JSON.parse(turn.events[0]?.payloadJson ?? '{}')).toMatchObject({
      scores: [{ answer: 'order' }, { answer: 'complain' }, { answer: 'chat' }],
      tokens: { generated: 0 },
    });
    expect(JSON.parse(turn.debugInfo)).toMatchObject({ inferences: [{ node: 'sort', tokens: { generated: 0 } }] });
  });

  it('ends with its turn when that is cancelled, and routes the next message', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(routed(shop), { enableDiagnostics: true });
    const requestId = client.send('sendMessage', { agentId, text: 'slow' });
    await client.waitFor(({ body, requestId: id }) => id === requestId && body === 'nodeEvent');
    await client.request('cancelTurn', { agentId });
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'CANCELLED', path: [] });
    expect(routesOf(turn)).toEqual([]);
    expect((await client.sendMessage(agentId, 'I am sure.')).steps).toBe('sort:order say:default');
  });

  it('compares labels all of which are nearly impossible', async () => {
    const scores = [-2000, -2000 - Math.log(3)];
    const load: Engine['load'] = async (file, options) => {
      const model = await engine.load(file, options);
      const openSequence: Model['openSequence'] = (sequence) => {
        const opened = model.openSequence(sequence);
        const score: Sequence['score'] = async (...request) => ({ ...(await opened.score(...request)), scores });
        return override(opened, { score });
      };
      return override(model, { openSequence });
    };
    await using own = await startTestServer({ engines: { mock: override<Engine>(engine, { load }) } });
    await using client = await TestClient.connect(own.url, subprotocol);
    const turn = await client.sendMessage(await client.createAgent(routed(shop.slice(1))), 'hello');
    const closeTo = (share: number): unknown => expect.closeTo(share, 6);
    expect(routesOf(turn)).toEqual([
      { label: 'complain', probabilities: { complain: closeTo(0.75), chat: closeTo(0.25) } },
    ]);
  });

  it('has the probability 1 for its only label', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(routed([{ name: 'chat' }], { threshold: 1 }));
    const turn = await client.sendMessage(agentId, 'I am sure.');
    expect(routesOf(turn)).toEqual([{ label: 'chat', probabilities: { chat: 1 } }]);
  });

  it('is warmed up although its labels leave little room in the context', async () => {
    await using client = await connect();
    const when = 'long '.repeat(6300);
    const agentId = await client.createAgent(routed([{ name: 'order', when }, { name: 'chat' }]), { warmUp: true });
    const turn = await client.sendMessage(agentId, 'I am sure.');
    expect(turn).toMatchObject({ status: 'SUCCESS', text: 'label: order' });
    expect(turn.tokensReused).toBeGreaterThan(7800);
  });

  it('ends the turn with 4004 where its labels do not fit into the context', async () => {
    await using client = await connect();
    const when = 'the user wants something that takes very many words to say '.repeat(2000);
    const agentId = await client.createAgent(routed([{ name: 'long', when }, { name: 'chat' }]));
    expect(await client.sendMessage(agentId, 'I am sure.')).toMatchObject({ status: 'ERROR', error: { code: 4004 } });
  });

  it('plays the graph receptionist', async () => {
    await using client = await connect();
    const agentId = await client.createAgent('receptionist');
    expect(await client.sendMessage(agentId, 'I doubt it.')).toMatchObject({
      steps: 'sort:chat talk:default',
      text: 'Spoken.',
      warnings: [],
    });
  });
});
