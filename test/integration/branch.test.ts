import { describe, expect, it } from 'vitest';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { setLight } from '../helpers/graphs.ts';
import { result } from '../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const call = '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": true}}\n</tool_call>';
const callsOfBoth = ['get.tide', 'get'].map((name) => call.replace('set_light', name)).join('\n');
const server = useServer({
  script: [
    { match: 'porch', node: 'act', answer: call },
    { match: 'both', node: 'act', answer: callsOfBoth },
  ],
});

type When = Readonly<Record<string, unknown>>;

/** A graph whose Branch has one case; nodes before it lead to it. */
const branched = (when: When, before: Readonly<Record<string, object>> = {}) => ({
  start_node: Object.keys(before)[0] ?? 'branch',
  nodes: {
    ...before,
    branch: {
      type: 'Branch',
      params: { cases: [{ exit: 'yes', when }] },
      exits: { yes: 'say_yes', otherwise: 'say_no' },
    },
    say_yes: { type: 'CannedResponse', params: { inline_strings: ['yes'] } },
    say_no: { type: 'CannedResponse', params: { inline_strings: ['no'] } },
  },
});

describe.each(subprotocols)('a Branch over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it.each<[string, When, Readonly<Record<string, string>>, string]>([
    ['a variable', { weather: 'rain' }, { weather: 'rain' }, 'yes'],
    ['another text', { weather: 'rain' }, { weather: 'Rain' }, 'no'],
    ['a number', { hp: { $lt: 20 } }, { hp: '9' }, 'yes'],
    ['a larger number', { hp: { $lt: 20 } }, { hp: '20' }, 'no'],
    ['what is no number', { hp: { $lt: 20 } }, { hp: 'few' }, 'no'],
    ['an equal number', { hp: 5 }, { hp: '5.0' }, 'yes'],
    ['a text of digits', { room: '05' }, { room: '05' }, 'yes'],
    ['digits as text beside a number', { $or: [{ room: '05' }, { room: { $gt: 10 } }] }, { room: '05' }, 'yes'],
    ['digits as a number beside a text', { $or: [{ room: '05' }, { room: { $gt: 10 } }] }, { room: '11' }, 'yes'],
    ['a text in a list that has a number', { room: { $in: ['05', 7] } }, { room: '05' }, 'yes'],
    ['a number in a list that has a text', { room: { $in: ['05', 7] } }, { room: '7.0' }, 'yes'],
    ['neither of a list of both', { room: { $nin: ['05', 7] } }, { room: '7.0' }, 'no'],
    ['an equal variable', { room: { $variable: 'home' } }, { room: '05', home: '05' }, 'yes'],
    ['a boolean', { night: true }, { night: 'true' }, 'yes'],
    ['one of a list', { mood: { $in: ['angry', 'sad'] } }, { mood: 'sad' }, 'yes'],
    ['another variable', { hp: { $gt: { $variable: 'limit' } } }, { hp: '10', limit: '9' }, 'yes'],
    ['a variable that is absent', { hp: { $lt: 20 } }, {}, 'no'],
    ['the opposite for one that is absent', { hp: { $not: { $lt: 20 } } }, {}, 'no'],
    ['absence', { hp: { $exists: false } }, {}, 'yes'],
    ['presence', { hp: { $exists: true } }, { hp: '' }, 'yes'],
    ['the name of a method', { constructor: { $exists: true } }, {}, 'no'],
    ['two conditions', { $and: [{ hp: { $gt: 1 } }, { name: 'Ada' }] }, { hp: '2', name: 'Ada' }, 'yes'],
    ['no condition', {}, {}, 'yes'],
  ])('compares %s', async (_, when, variables, text) => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(branched(when)), 'Hello.', variables);
    expect(turn).toMatchObject({ status: 'SUCCESS', text, tokensPrompt: 0, warnings: [] });
  });

  it('takes the first case that holds, and otherwise if none does', async () => {
    await using client = await connect();
    const cases = [
      { exit: 'low', when: { hp: { $lt: 10 } } },
      { exit: 'middle', when: { hp: { $lt: 50 } } },
    ];
    const graph = { start_node: 'branch', nodes: { branch: { type: 'Branch', params: { cases } } } };
    const agentId = await client.createAgent(graph);
    const exitFor = async (hp: string): Promise<string> => (await client.sendMessage(agentId, 'Hello.', { hp })).steps;
    expect([await exitFor('5'), await exitFor('20'), await exitFor('90')]).toEqual([
      'branch:low',
      'branch:middle',
      'branch:otherwise',
    ]);
  });

  it('counts the turns of its agent, those of a history included', async () => {
    await using client = await connect();
    const history = JSON.stringify([{ user: 'Hello!', assistant: 'Hello.' }]);
    const agentId = await client.createAgent(branched({ 'agent.turns': { $gte: 2 } }), { historyJson: history });
    expect((await client.sendMessage(agentId, 'One.')).text).toBe('no');
    expect((await client.sendMessage(agentId, 'Two.')).text).toBe('yes');
  });

  it('knows the path, the label of a Route and the last call of its turn', async () => {
    await using client = await connect();
    const params = { match: 'patterns', labels: [{ name: 'light', patterns: ['porch'] }] };
    const before = {
      sort: { type: 'Route', params, exits: { light: 'act', not_matched: 'branch' } },
      act: {
        type: 'ToolCall',
        params: { tools: [setLight] },
        exits: { tool_called: 'branch', no_tool_called: 'branch' },
      },
    };
    const answers = async (when: When): Promise<readonly string[]> => {
      const agentId = await client.createAgent(branched(when, before));
      return [(await client.sendMessage(agentId, 'porch')).text, (await client.sendMessage(agentId, 'roof')).text];
    };
    expect(await answers({ 'turn.path': { $contains: 'act' } })).toEqual(['yes', 'no']);
    expect(await answers({ 'turn.label': 'light' })).toEqual(['yes', 'no']);
    expect(await answers({ 'turn.tool_name': 'set_light' })).toEqual(['yes', 'no']);
    expect(await answers({ 'turn.label': { $exists: false } })).toEqual(['no', 'yes']);
  });

  it.each<[string, When, string]>([
    ['{"room": {"lux": 40}}', { 'result.set_light.room.lux': { $gte: 40 } }, 'yes'],
    ['{"room": {"lux": 39}}', { 'result.set_light.room.lux': { $gte: 40 } }, 'no'],
    ['{"tags": ["warm", "dim"]}', { 'result.set_light.tags': { $contains: 'dim' } }, 'yes'],
    ['{"dice": [2, 6]}', { 'result.set_light.dice': { $contains: 6 } }, 'yes'],
    ['{"dice": [2, 6]}', { 'result.set_light.dice': { $in: [5, 6] } }, 'yes'],
    ['{"dice": [2, "6"]}', { 'result.set_light.dice': { $contains: 6 } }, 'no'],
    ['{"room": {}}', { 'result.set_light.room': { $exists: true } }, 'yes'],
    ['{"room": null}', { 'result.set_light.room': { $exists: true } }, 'no'],
    ['broken', { 'result.set_light': 'broken' }, 'yes'],
    ['{}', { 'result.other': { $exists: true } }, 'no'],
  ])('reads the result %s', async (content, when, text) => {
    await using client = await connect();
    const act = {
      type: 'ToolCall',
      params: { tools: [setLight], await_results: true },
      exits: { tool_called: 'branch', no_tool_called: 'branch', no_results: 'branch' },
    };
    const agentId = await client.createAgent(branched(when, { act }));
    const requestId = client.send('sendMessage', { agentId, text: 'porch' });
    const { turnId, callId } = await client.receive('toolCallNotification');
    await client.request('submitToolResults', {
      agentId,
      turnId,
      results: [result({ callId, content })],
    });
    expect((await client.turnOf(requestId)).text).toBe(text);
  });

  it('reads the result of the tool with the longest name that fits', async () => {
    await using client = await connect();
    const tools = ['get', 'get.tide'].map((name) => ({ ...setLight, name }));
    const params = { tools, await_results: true };
    const act = { type: 'ToolCall', params, exits: { tool_called: 'branch', no_tool_called: 'branch' } };
    const agentId = await client.createAgent(branched({ 'result.get.tide': 'high' }, { act }));
    const requestId = client.send('sendMessage', { agentId, text: 'both' });
    const isCall = (frame: ServerFrame) => frame.body === 'toolCallNotification';
    await client.waitFor((frame) => isCall(frame) && frame.toolCallNotification.toolName === 'get');
    const contents: Readonly<Record<string, string>> = { 'get.tide': '"high"', get: '{"tide": "low"}' };
    const calls = client.received.filter(isCall).map(({ toolCallNotification }) => toolCallNotification);
    const results = calls.map(({ callId, toolName }) => result({ callId, content: contents[toolName] ?? '' }));
    const { turnId } = await client.receive('toolCallNotification');
    await client.request('submitToolResults', { agentId, turnId, results });
    expect((await client.turnOf(requestId)).text).toBe('yes');
  });

  it.each<[string, When, string]>([
    ['an unknown operator', { hp: { $less: 2 } }, '$less'],
    ['a value that a turn has not', { 'turn.lable': 'x' }, 'did you mean "turn.label"?'],
    ['an existence that is no boolean', { hp: { $exists: 1 } }, 'must be true or false'],
  ])('refuses %s, with its place', async (_, when, why) => {
    await using client = await connect();
    const response = await client.request('createAgent', { graphJson: JSON.stringify(branched(when)) });
    const { message } = errorOf(response);
    expect(message).toContain('branch.params.cases[0].when');
    expect(message).toContain(why);
  });

  it('warns of the result of a tool that no node has', async () => {
    await using client = await connect();
    const exits = { tool_called: 'branch', no_tool_called: 'branch' };
    const act = { type: 'ToolCall', params: { tools: [setLight], await_results: true }, exits };
    const graph = branched({ 'result.set_lihgt.on': true, 'result.set_light.on': true }, { act });
    const response = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    expect(response).toMatchObject({
      createAgent: {
        warnings: [
          'branch.params.cases[0] is on "result.set_lihgt.on", and no node has such a tool; did you mean "set_light"?',
        ],
      },
    });
  });

  it('warns of a case that cannot be reached', async () => {
    await using client = await connect();
    const cases = [
      { exit: 'a', when: { hp: 1 } },
      { exit: 'b', when: { hp: 1 } },
      { exit: 'c', when: {} },
      { exit: 'd', when: { hp: 2 } },
    ];
    const exits = { a: 'other', b: 'say', c: 'say', d: 'say', otherwise: 'other' };
    const say = { type: 'CannedResponse', params: { inline_strings: ['yes'] } };
    const graph = {
      start_node: 'branch',
      nodes: { branch: { type: 'Branch', params: { cases }, exits }, say, other: say },
    };
    const response = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    expect(response).toMatchObject({
      createAgent: {
        warnings: [
          'branch.params.cases[1] is never reached: cases[0] holds whenever it would',
          'branch.params.cases[3] is never reached: cases[2] holds whenever it would',
        ],
      },
    });
  });
});
