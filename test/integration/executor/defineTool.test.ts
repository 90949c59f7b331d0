import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect, defineTool, executor, type Client, type ToolContext } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, resultsIn } from '../../helpers/executorGraphs.ts';
import { chatmlCall, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { startTestServer, useServer } from '../../helpers/server.ts';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';

const porch = chatmlCall('set_light', { name: 'porch', on: true });
const engine = scriptedEngine([
  { match: 'porch', node: 'act', nth: 1, answer: porch },
  { match: 'bell', node: 'act', nth: 1, answer: chatmlCall('ring_bell', {}) },
  { match: '', node: 'act', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'Well.' },
]);
const server = useServer({ engines: { mock: engine } });

/** Offers tools, waits for their results, and answers. */
const house = (tools: readonly unknown[], params: object = {}) => ({
  start_node: 'act',
  nodes: {
    act: {
      type: 'ToolCall',
      params: { tools, await_results: true, ...params },
      exits: { tool_called: 'answer', no_tool_called: 'answer' },
    },
    answer: { type: 'Generate' },
  },
});

/** A tool that keeps what it got. */
function lightTool() {
  const got: unknown[] = [];
  const contexts: ToolContext[] = [];
  const setLight = defineTool({
    name: 'set_light',
    description: 'Turn a light on or off.',
    parameters: z.object({ name: z.enum(['porch', 'hall']).transform((name) => `lamp:${name}`), on: z.boolean() }),
    run: (args, context) => {
      got.push(args);
      contexts.push(context);
      return 'done';
    },
  });
  return { setLight, got, contexts };
}

const setLightSchema = {
  type: 'object',
  properties: { name: { type: 'string', enum: ['porch', 'hall'] }, on: { type: 'boolean' } },
  required: ['name', 'on'],
};
const declaration = { name: 'set_light', description: 'Turn a light on or off.', parameters: setLightSchema };
const ringBell = defineTool({ name: 'ring_bell', description: 'Ring the bell.', run: () => 'it rang' });

/** The refusal of an agent: its message, and the places of its faults. */
const refusalOf = (creation: Promise<unknown>) =>
  creation.then(
    () => 'it was created',
    ({ name, message, detail }: { name: string; message: string; detail: string }) => ({
      name,
      message,
      places: detail ? (JSON.parse(detail) as { pointer: string }[]).map(({ pointer }) => pointer) : [],
    }),
  );

describe.each(codecs)('over %s, a tool that is defined once', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });

  it('is declared to the node that names it, and runs its calls in each turn', async () => {
    await using client = await open();
    const { setLight, got } = lightTool();
    const agent = await client.createAgent({ graph: house(['set_light', 'ring_bell']), tools: [setLight, ringBell] });
    expect(agent.warnings).toEqual([]);
    expect((await agent.send('porch light on')).text).toBe('Well.');
    expect(got).toEqual([{ name: 'lamp:porch', on: true }]);
    expect(resultsIn(engine)).toEqual(['done']);
    await agent.send('ring the bell');
    expect(resultsIn(engine)).toEqual(['it rang']);
  });

  it('is shown to the model as if the graph had declared it', async () => {
    await using client = await open();
    const promptOf = async (agent: Awaited<ReturnType<Client['createAgent']>>) => {
      await agent.send('hello');
      return engine.prompts.at(-2);
    };
    const named = await client.createAgent({
      graph: house(['set_light'], { strict: true }),
      tools: [lightTool().setLight],
    });
    const prompt = await promptOf(named);
    expect(JSON.stringify(prompt?.tools)).toContain('Turn a light on or off.');
    const declared = await client.createAgent({ graph: house([declaration], { strict: true }) });
    expect(prompt).toEqual(await promptOf(declared));
  });

  it('gets the agent, the session and the variables', async () => {
    await using client = await open();
    const { setLight, contexts } = lightTool();
    const agent = await client.createAgent({ graph: house(['set_light']), tools: [setLight] });
    await agent.send('porch light on', { variables: { player: 'Ada' } });
    const [context] = contexts;
    expect(context).toMatchObject({ call: { toolName: 'set_light' }, variables: { player: 'Ada' } });
    expect(context?.agent).toBe(agent);
    const { resumeToken, ...session } = client.session;
    expect(context?.session).toEqual(session);
    expect(JSON.stringify(context)).not.toContain(resumeToken);
  });

  it('can read the dialog while its turn waits for it', async () => {
    await using client = await open();
    const recall = defineTool({
      name: 'set_light',
      description: 'Tells what was said.',
      run: async (_, { dialog }) => (await dialog()).map(({ user, assistant }) => `${user} ${assistant}`),
    });
    const agent = await client.createAgent({ graph: house(['set_light']), tools: [recall] });
    await agent.send('hello');
    await agent.send('porch light on');
    expect(resultsIn(engine)).toEqual(['["hello Well."]']);
  });

  it('gives way to the tools of a message', async () => {
    await using client = await open();
    const { setLight, got } = lightTool();
    const agent = await client.createAgent({ graph: house(['set_light']), tools: [setLight] });
    await agent.send('porch light on', { tools: executor({ set_light: { run: () => 'another one' } }) });
    expect([got, resultsIn(engine)]).toEqual([[], ['another one']]);
  });

  it('has the hooks of an executor that the agent is created with', async () => {
    await using client = await open();
    const asked: unknown[] = [];
    const bell = defineTool({ ...ringBell.declaration, consequential: true, run: () => 'it rang' });
    const confirm = ({ toolName }: { toolName: string }) => asked.push(toolName) > 1;
    const agent = await client.createAgent({ graph: house(['ring_bell']), tools: executor([bell], { confirm }) });
    await agent.send('ring the bell');
    expect(resultsIn(engine)).toEqual(['Error: not run: it was not confirmed']);
    await agent.clearDialog();
    await agent.send('ring the bell');
    expect([asked, resultsIn(engine)]).toEqual([['ring_bell', 'ring_bell'], ['it rang']]);
  });

  it('is only declared where the program gives no function: it runs the calls itself', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: house(['set_light']), tools: [declaration] });
    const turn = agent.send('porch light on');
    for await (const { callId } of turn.calls) await agent.submitToolResults([{ callId, content: 'by hand' }]);
    await turn;
    expect(resultsIn(engine)).toEqual(['by hand']);
  });

  it('can be taken away and named again between turns', async () => {
    await using client = await open();
    const agent = await client.createAgent({
      graph: house(['set_light', 'ring_bell']),
      tools: [lightTool().setLight, ringBell],
    });
    await agent.changeParams('act', { tools: ['set_light'] });
    await agent.send('ring the bell');
    expect(resultsIn(engine)).toEqual(['Error: act offers no tool "ring_bell"']);
    await agent.changeParams('act', { tools: ['ring_bell'] });
    await agent.clearDialog();
    await agent.send('ring the bell');
    expect(resultsIn(engine)).toEqual(['it rang']);
    await expect(agent.changeParams('act', { tools: ['ring_bel'] })).rejects.toMatchObject({
      name: 'INVALID_PARAM_VALUE',
      message:
        'act.params.tools[0] names the tool "ring_bel", which the program does not bring: createAgent.tools has only "set_light", "ring_bell"; did you mean "ring_bell"?',
    });
  });

  it('is selected like a declared one', async () => {
    await using client = await open();
    const { setLight, got } = lightTool();
    const { nodes } = house(['set_light', 'ring_bell'], { tools_from: 'selection' });
    const guidelines = [{ name: 'light', patterns: ['light'], tools: ['set_light'] }];
    const select = { type: 'SelectTools', params: { guidelines }, exits: { matched: 'act', none_matched: 'answer' } };
    const graph = { start_node: 'select', nodes: { select, ...nodes } };
    const agent = await client.createAgent({ graph, tools: [setLight, ringBell] });
    await agent.send('porch light on');
    expect(got).toHaveLength(1);
  });

  it('runs again when the connection was resumed, and for the dialog in a new server', async () => {
    const { setLight, got } = lightTool();
    const create = { graph: house(['set_light']), tools: [setLight] };
    const proxy = await TcpProxy.start(server().url);
    await using client = await openClient(proxy.url, { codec, reconnect: { firstDelayMs: 0 } });
    proxy.cutAfter('toServer', 300);
    const agent = await client.createAgent(create);
    await agent.send('porch light on');
    expect([proxy.cuts, got.length]).toEqual([1, 1]);
    const history = await agent.exportDialog();
    await using other = await startTestServer({ engines: { mock: engine } });
    await using laterClient = await openClient(other.url, { codec });
    const later = await laterClient.createAgent({ ...create, history });
    await later.send('porch light on, again');
    expect(got).toHaveLength(2);
    await client.close();
    await proxy.stop();
  });
});

describe.each(codecs)('over %s, an agent is refused', (codec) => {
  const create = async (tools: readonly unknown[], brought: Parameters<Client['createAgent']>[0]['tools']) => {
    await using client = await openClient(server().url, { codec });
    return await refusalOf(client.createAgent({ graph: house(tools), ...(brought && { tools: brought }) }));
  };

  it('for a name that the program does not bring', async () => {
    expect(await create(['set_light', 'ring_bel'], [lightTool().setLight])).toEqual({
      name: 'GRAPH_COMPILATION_FAILED',
      message:
        'act.params.tools[1] names the tool "ring_bel", which the program does not bring: createAgent.tools has only "set_light"',
      places: ['/nodes/act/params/tools/1'],
    });
    expect(await create(['set_light'], undefined)).toMatchObject({
      message:
        'act.params.tools[0] names the tool "set_light", which the program does not bring: createAgent.tools is empty; bring it, or declare it in the graph',
    });
  });

  it('for a tool that no node names', async () => {
    expect(await create(['set_light'], [lightTool().setLight, ringBell])).toEqual({
      name: 'GRAPH_COMPILATION_FAILED',
      message: 'the graph has no node that names "ring_bell" of createAgent.tools: its nodes name only "set_light"',
      places: [''],
    });
  });

  it('with both names where one of them is misspelt', async () => {
    expect(await create(['ring_bel'], [ringBell])).toEqual({
      name: 'GRAPH_COMPILATION_FAILED',
      message:
        'act.params.tools[0] names the tool "ring_bel", which the program does not bring: createAgent.tools has only "ring_bell"; did you mean "ring_bell"?; 1 more fault is in the detail, and turngraph check shows all',
      places: ['/nodes/act/params/tools/0', ''],
    });
  });

  it('for a tool with two definitions', async () => {
    expect(await create([declaration], [lightTool().setLight])).toMatchObject({
      message:
        'act.params.tools[0] declares the tool "set_light", which createAgent.tools has, too; write "set_light" in its place, or do not bring it',
    });
    expect(await create(['ring_bell'], [ringBell, ringBell])).toMatchObject({
      message: 'createAgent.toolsJson[1] is the second tool "ring_bell"',
    });
    expect(await create(['ring_bell', 'ring_bell'], [ringBell])).toMatchObject({
      message: 'act.params.tools[1].name is declared twice: "ring_bell"',
    });
  });

  it('for a declaration that a node cannot have', async () => {
    const when = { type: 'object', properties: { when: { not: { type: 'string' } } } } as const;
    const strict = defineTool({ name: 'wait', description: 'Wait.', parameters: when, run: () => {} });
    await using client = await openClient(server().url, { codec });
    const graph = house(['wait'], { strict: true });
    const refusal = await refusalOf(client.createAgent({ graph, tools: [strict] }));
    expect(JSON.stringify(refusal)).toContain('the tool \\"wait\\" cannot be strict with it');
  });

  it('before anything is sent for what is no tool', async () => {
    await using client = await connect(server().url, { codec });
    const notDefined = { name: 'ring_bell', description: 'Ring the bell.', run: () => {} };
    for (const [tools, message] of [
      [[notDefined], 'createAgent.tools[0] must be a tool of defineTool({ ... }), not an object'],
      [['ring_bell'], 'createAgent.tools[0] must be a tool of defineTool({ ... }), not "ring_bell"'],
      [{ ring_bell: ringBell }, 'createAgent.tools must be a list of tools, or an executor, not an object'],
    ] as const)
      expect(await refusalOf(client.createAgent({ graph: house(['ring_bell']), tools: tools as never }))).toMatchObject(
        {
          name: 'MALFORMED_MESSAGE',
          message,
        },
      );
  });
});
