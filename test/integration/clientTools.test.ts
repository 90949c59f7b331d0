import { describe, expect, it } from 'vitest';
import { chatmlCall } from '../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const server = useServer({ script: [{ match: 'bell', answer: chatmlCall('ring_bell', {}) }] });

const graphWith = (...tools: readonly unknown[]) => ({
  start_node: 'act',
  nodes: { act: { type: 'ToolCall', params: { tools, generate_on_no_tool: true } } },
});
const ringBell = { name: 'ring_bell', description: 'Ring the bell.' };

describe.each(subprotocols)('over %s, a client brings the tools that its graph names', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('in both forms of a declaration, next to those of the graph', async () => {
    await using client = await connect();
    const openAi = { type: 'function', function: { name: 'open_door', description: 'Open the door.' } };
    const toolsJson = JSON.stringify([ringBell, openAi]);
    const wait = { name: 'wait', description: 'Wait.' };
    const agentId = await client.createAgent(graphWith('ring_bell', wait, 'open_door'), { toolsJson });
    const { calls } = await client.sendMessage(agentId, 'the bell, please');
    expect(calls).toMatchObject([{ toolName: 'ring_bell', known: true, issues: [] }]);
  });

  it('for all nodes that name them', async () => {
    await using client = await connect();
    const { nodes } = graphWith('ring_bell');
    const graph = { start_node: 'act', nodes: { ...nodes, later: nodes.act } };
    await client.createAgent(graph, { toolsJson: JSON.stringify([ringBell]) });
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    expect((JSON.parse(errorOf(answer).detail) as { message: string }[]).map(({ message }) => message)).toEqual([
      'act.params.tools[0] names the tool "ring_bell", which the program does not bring: createAgent.tools is empty; bring it, or declare it in the graph',
      'later.params.tools[0] names the tool "ring_bell", which the program does not bring: createAgent.tools is empty; bring it, or declare it in the graph',
    ]);
  });

  it('and is told of other faults of the graph, too', async () => {
    await using client = await connect();
    const graph = graphWith('ring_bell', { name: 'wait' });
    const toolsJson = JSON.stringify([{ ...ringBell, name: 'ring_bel' }]);
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(graph), toolsJson });
    expect(errorOf(answer)).toMatchObject({
      name: 'GRAPH_COMPILATION_FAILED',
      message: 'act.params.tools[1].description is missing',
    });
  });

  it.each([
    ['no JSON', '[', 'createAgent.toolsJson is not valid JSON'],
    ['no list', '{}', 'createAgent.toolsJson must be an array'],
    [
      'a member twice',
      '[{"name":"a","name":"b"}]',
      'createAgent.toolsJson has the name "name" twice in one object at 1:14',
    ],
    ['a name with a space', '[{"name":"a b","description":""}]', 'createAgent.toolsJson[0].name must fit'],
    ['a name alone', '["ring_bell"]', 'createAgent.toolsJson[0] must be a tool with name, description and parameters'],
    ['a name twice', JSON.stringify([ringBell, ringBell]), 'createAgent.toolsJson[1] is the second tool "ring_bell"'],
    ['too many values', JSON.stringify(Array(40_000).fill(0)), 'createAgent.toolsJson has more than'],
  ])('and is refused with %s', async (_, toolsJson, message) => {
    await using client = await connect();
    const graphJson = JSON.stringify(graphWith('ring_bell'));
    expect(errorOf(await client.request('createAgent', { graphJson, toolsJson })).message).toContain(message);
  });
});
