import { describe, expect, it } from 'vitest';
import { house, houseGuidelines, houseTools } from '../../helpers/guidelineGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../../helpers/server.ts';

const server = useServer({ maxPatterns: 5 });

const [garden] = houseGuidelines.filter(({ name }) => name === 'garden');
const guideline = { ...garden, when: undefined };

type InvalidCase<Value> = readonly [what: string, value: Value, message: string, code?: number];

const invalidGuidelines: readonly InvalidCase<readonly object[]>[] = [
  [
    'a tool that no node declares',
    [{ ...guideline, tools: ['rake_leaves', 'clip_hedges'] }],
    'select.params.guidelines[0].tools[1] is no tool that a node of the graph declares: "clip_hedges"; did you mean "clip_hedge"?',
  ],
  [
    'two guidelines of one name',
    [guideline, { ...guideline, patterns: ['x'] }],
    'select.params.guidelines[1].name is the name of guidelines[0], too; give it another one',
  ],
  [
    'a pattern that cannot run in linear time',
    [guideline, { name: 'other', patterns: ['fine', '(?=look)'], tools: [] }],
    'select.params.guidelines[1].patterns[1] is not a supported pattern (RE2 syntax, no lookaround or backreferences): "(?=look)"',
  ],
  [
    'an empty pattern',
    [{ ...guideline, patterns: [''] }],
    'select.params.guidelines[0].patterns[0] is empty, and would match every text',
  ],
  [
    'too many patterns',
    [guideline, { name: 'other', patterns: ['a', 'b', 'c', 'd', 'e'], tools: [] }],
    'select.params.guidelines has 6 patterns in all, and 5 are allowed',
    2005,
  ],
  ['a guideline without tools', [{ name: 'garden' }], 'select.params.guidelines[0].tools is missing'],
  ['a guideline without a name', [{ tools: [] }], 'select.params.guidelines[0].name is missing'],
  ['a guideline with an empty name', [{ name: '', tools: [] }], 'select.params.guidelines[0].name must'],
  [
    'a guideline with a typo',
    [{ ...guideline, pattern: ['a'] }],
    'select.params.guidelines[0].pattern is not known here; did you mean "patterns"?',
  ],
  [
    'more than 64 guidelines',
    Array.from({ length: 65 }, (_, index) => ({ name: `${index}`, tools: [] })),
    'select.params.guidelines must have at most 64 items',
  ],
];

const invalidParams: readonly InvalidCase<object>[] = [
  ...invalidGuidelines.map(
    ([what, guidelines, message, code = 3003]) => [what, { guidelines }, message, code] as const,
  ),
  ['a threshold above 1', { threshold: 1.5 }, 'select.params.threshold must be <= 1'],
  ['no tool at all', { max_tools: 0 }, 'select.params.max_tools must be >= 1'],
  ['another way to match', { match: 'models' }, 'select.params.match must be'],
  [
    'a model that does not exist',
    { match: 'model', model_name: 'nobody' },
    'select.params.model_name cannot be used: ',
    6007,
  ],
  [
    'a guideline that a model has to decide without a condition',
    { match: 'model', guidelines: [guideline] },
    'select.params.guidelines[0] has no "when": with match "model" it is the condition that the model decides; add it',
  ],
];

const asObject = <Value>([what, value, message, code]: InvalidCase<Value>) => ({ what, value, message, code });

describe.each(subprotocols)('over %s, SelectTools refuses', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const create = (client: TestClient, graph: object) =>
    client.request('createAgent', { graphJson: JSON.stringify(graph) });

  it.each(invalidParams.map(asObject))('$what', async ({ value: select, message, code = 3003 }) => {
    await using client = await connect();
    const error = errorOf(await create(client, house({ select })));
    expect(error.message).toContain(message);
    expect(error.code).toBe(code);
  });

  it.each(invalidGuidelines.map(asObject))(
    'a change to $what, and keeps the guidelines',
    async ({ value: guidelines, message, code = 3007 }) => {
      await using client = await connect();
      const agentId = await client.createAgent(house());
      const paramsJson = JSON.stringify({ guidelines });
      const error = errorOf(await client.request('changeParams', { agentId, nodeName: 'select', paramsJson }));
      expect(error.message).toContain(message);
      expect(error.code).toBe(code);
      expect((await client.sendMessage(agentId, 'Look after the garden.')).steps).toContain('select:matched');
    },
  );

  it.each(['match', 'model_name'])('a change of %s', async (name) => {
    await using client = await connect();
    const agentId = await client.createAgent(house());
    const paramsJson = JSON.stringify({ [name]: 'model' });
    const error = errorOf(await client.request('changeParams', { agentId, nodeName: 'select', paramsJson }));
    expect(error).toMatchObject({ code: 3006 });
  });

  it('all faults of its guidelines at once, each with its place', async () => {
    await using client = await connect();
    const guidelines = [
      { name: 'a', patterns: ['('], tools: ['rake_leave'] },
      { name: 'a', patterns: ['[', 'fine'], tools: ['feed_birds', 'feed_bees'] },
    ];
    const { detail } = errorOf(await create(client, house({ select: { guidelines } })));
    const pointers = (JSON.parse(detail) as readonly { readonly pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers).toEqual(
      ['0/tools/0', '1/name', '1/tools/1', '0/patterns/0', '1/patterns/0'].map(
        (place) => `/nodes/select/params/guidelines/${place}`,
      ),
    );
  });

  it('no tool of a node that has another fault', async () => {
    await using client = await connect();
    const error = errorOf(await create(client, house({ serve: { tools: houseTools, strict: 1 } })));
    expect(JSON.parse(error.detail)).toMatchObject([{ pointer: '/nodes/serve/params/strict' }]);
  });

  it.each([
    [
      'a guideline that never matches',
      { guidelines: [{ name: 'garden', when: 'the user speaks of the garden', tools: ['rake_leaves'] }] },
      'select.params.guidelines[0] has no patterns: the guideline "garden" never matches; add patterns, or set match to "model"',
    ],
    [
      'a model that is not asked',
      { model_name: 'turngraph-demo' },
      'select.params.model_name is not used with "match": "patterns"',
    ],
    ['a threshold without a model', { threshold: 0.3 }, 'select.params.threshold is not used with "match": "patterns"'],
    ['no guideline at all', { guidelines: [] }, 'select has no guideline: this SelectTools never selects a tool'],
  ])('nothing, but warns of %s', async (_, select, warning) => {
    await using client = await connect();
    expect(await create(client, house({ select }))).toMatchObject({
      createAgent: { warnings: expect.arrayContaining([warning]) as unknown },
    });
  });

  it('nothing, and warns of nothing, where both exits lead to the ToolCall that offers what is selected', async () => {
    await using client = await connect();
    expect(await create(client, house({ loops: true }))).toMatchObject({ createAgent: { warnings: [] } });
  });

  it.each(['matched', 'none_matched'])('nothing, but warns of a turn that ends without a word by %s', async (exit) => {
    await using client = await connect();
    const { start_node, nodes } = house({ loops: true });
    const select = { ...nodes['select'], exits: { matched: 'serve', none_matched: 'serve', [exit]: '' } };
    expect(await create(client, { start_node, nodes: { ...nodes, select } })).toMatchObject({
      createAgent: {
        warnings: [
          `select.exits.${exit} can end a turn in which the client gets neither a text nor a call; lead it to a node that answers`,
        ],
      },
    });
  });
});
