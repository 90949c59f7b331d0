import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  unwrapParam,
  checkGraph,
  compileTemplate,
  defineFormat,
  defineNode,
  detect,
  graphSchema,
  liveParams,
  startServer,
  type AnyNodeType,
} from '../../src/index.ts';
import { lamp, setLight } from '../helpers/graphs.ts';
import { useServer, repositoryPath, TestClient, startTestServer, subprotocols } from '../helpers/server.ts';

const dice = defineNode({
  type: 'Dice',
  summary: 'Rolls a die and sends the result.',
  params: {
    type: 'object',
    additionalProperties: false,
    required: ['sides'],
    properties: {
      sides: { type: 'integer', minimum: 1, description: 'How many sides the die has.' },
      line: { type: 'string', default: 'You rolled {{roll}}.', live: true, description: 'Template of the text.' },
    },
  },
  exits: ['won', 'lost'],
  async create(params, { nodeName }) {
    const settings = await liveParams(params, ({ line }) =>
      unwrapParam('/line', compileTemplate(line, `${nodeName}.params.line`)),
    );
    return {
      async run(turn) {
        const roll = params.sides;
        const variables = { roll: String(roll) };
        const scope = {
          message: turn.message,
          variables,
          calls: [],
          insights: [],
          exchanges: [],
          warn: (warning: string) => turn.warn(warning),
        };
        turn.say(settings.current.render(scope), 'whole');
        turn.emitEvent('rolled', { roll });
        return roll > 1 ? 'won' : 'lost';
      },
      change: settings.change,
    };
  },
});

const shoutFormat = defineFormat({
  name: 'shouting',
  place: 'system',
  render: (tools) => `SHOUT ONE OF: ${tools.map(({ name }) => name.toUpperCase()).join(', ')}`,
  detect: (text) => detect(text, { name: 'shout', arguments: 'with' }),
});

/** A format without marks. */
const openFormat = defineFormat({
  name: 'open',
  place: 'system',
  render: () => 'Write the name, the value and a full stop.',
  detect: (text) => ({ calls: [], residual: text, truncated: text.startsWith('set_light') && !text.endsWith('.') }),
});

const graph = {
  start_node: 'roll',
  nodes: {
    roll: { type: 'Dice', params: { sides: 6 }, exits: { won: 'detect' } },
    detect: { type: 'ToolCall', params: { tools: [setLight], tool_call_format: 'shouting' } },
  },
};

const server = useServer({
  extension: { nodeTypes: [dice], formats: [shoutFormat, openFormat] },
  script: [
    { match: 'hello', answer: '{"shout": "set_light", "with": {"name": "porch", "on": true}}' },
    { match: 'cut', answer: 'set_light name' },
  ],
});

describe.each(subprotocols)('a node type and a format of an extension, over %s', (subprotocol) => {
  it('run in a graph', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(graph, { enableDiagnostics: true });
    const turn = await client.sendMessage(agentId, 'hello');
    expect(turn).toMatchObject({ text: 'You rolled 6.', steps: 'roll:won detect:tool_called' });
    expect(turn.calls).toMatchObject([{ toolName: 'set_light', known: true }]);
    const rolled = turn.events.filter(({ eventType }) => eventType === 'rolled');
    expect(rolled).toMatchObject([{ eventType: 'rolled', payloadJson: '{"roll": 6}' }]);
  });

  it('report a call that is cut off', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const turn = await client.sendMessage(await client.createAgent(lamp({ tool_call_format: 'open' })), 'cut');
    expect(turn.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown])).toEqual([
      ['call_unread', { text: 'set_light name', reason: 'the text ends inside a call' }],
    ]);
    expect(turn.warnings).toEqual([expect.stringContaining('the text ends inside a call')]);
  });

  it('fail a turn when they return an exit that they do not declare', async () => {
    const wrongExit = defineNode({
      type: 'Lying',
      summary: 'Returns an exit that it does not declare.',
      params: { type: 'object', properties: {} },
      exits: ['default'],
      create: async () => ({ run: async () => 'elsewhere' as 'default' }),
    });
    await using own = await startTestServer({ extension: { nodeTypes: [wrongExit] } });
    await using client = await TestClient.connect(own.url, subprotocol);
    const agentId = await client.createAgent({ start_node: 'a', nodes: { a: { type: 'Lying' } } });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({
      status: 'ERROR',
      error: { code: 5005 },
      path: [],
    });
  });

  it('are validated and changed like built-in ones', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const wrong = {
      ...graph,
      nodes: { ...graph.nodes, roll: { type: 'Dice', params: { sides: 0 }, exits: { win: '' } } },
    };
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(wrong) });
    expect(answer).toMatchObject({
      error: { code: 3003, message: expect.stringMatching(/^roll\.params\.sides must be >= 1, not 0/) as string },
    });
    const agentId = await client.createAgent(graph);
    await client.request('changeParams', { agentId, nodeName: 'roll', paramsJson: '{"line": "A {{roll}}!"}' });
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ text: 'A 6!' });
  });
});

describe('a node type and a format of an extension', () => {
  it('are in the JSON Schema for editors', async () => {
    const schema = JSON.stringify(graphSchema({ nodeTypes: [dice], formats: [shoutFormat, openFormat] }));
    expect(schema).toContain('"Dice"');
    expect(schema).toContain('"shouting"');
    const served = await new Promise<string>((resolve) => {
      get(`http://127.0.0.1:${server().port}/schema/graph.schema.json`, async (response) => {
        let text = '';
        for await (const part of response) text += String(part);
        resolve(text);
      });
    });
    expect(JSON.parse(served)).toEqual(JSON.parse(schema));
  });

  it('are known to checkGraph of the library', async () => {
    const catalogue = repositoryPath('models.json');
    const known = { ...graph, default_model_name: 'turngraph-demo' };
    expect(await checkGraph(known, { catalogue, nodeTypes: [dice], formats: [shoutFormat, openFormat] })).toEqual({
      faults: [],
      warnings: [],
    });
    expect(await checkGraph(known, { catalogue })).toMatchObject({
      faults: [{ pointer: '/nodes/roll/type' }, { pointer: '/nodes/detect/params/tool_call_format' }],
    });
  });

  it('cannot have a name that is in use', async () => {
    await expect(startServer({ port: 0, nodeTypes: [dice, dice] })).rejects.toThrow('there are two node types "Dice"');
    const taken = { ...shoutFormat, name: 'chatml' };
    await expect(startServer({ port: 0, formats: [taken] })).rejects.toThrow(
      'there are two tool-call formats "chatml"',
    );
  });

  it.each([
    ['type', { type: 'objekt' }, 'data/type must be equal to one of the allowed values'],
    ['keyword', { type: 'object', properties: { sides: { type: 'integer', smallest: 2 } } }, 'keyword: "smallest"'],
  ])('cannot have parameters whose schema has an unknown %s', async (_, params, message) => {
    const type = { ...dice, params } as unknown as AnyNodeType;
    await expect(startServer({ port: 0, nodeTypes: [type] })).rejects.toThrow(message);
  });
});
