import { describe, expect, it } from 'vitest';
import { setLight } from '../helpers/graphs.ts';
import { routed, routesOf } from '../helpers/routeGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const call = '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": true}}\n</tool_call>';
const server = useServer({ script: [{ match: 'porch', node: 'act', answer: call }] });

const shop = [
  { name: 'order', patterns: ['\\bbuy\\b', '\\bale\\b'] },
  { name: 'complain', patterns: ['\\bflat\\b'] },
];
const patterns = { match: 'patterns' };

describe.each(subprotocols)('a Route by patterns, over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it.each([
    ['a label of which a pattern matches', 'The beer is FLAT.', 'complain'],
    ['the first such label, in their order', 'A flat ale!', 'order'],
  ])('takes the exit of %s', async (_, message, label) => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(routed(shop, patterns)), message);
    expect(turn).toMatchObject({ text: `label: ${label}`, steps: `sort:${label} say:default`, warnings: [] });
    expect(routesOf(turn)).toEqual([{ label }]);
    expect(turn.tokensPrompt).toBe(0);
  });

  it('knows words of every script, and letters that look alike if it is told to', async () => {
    await using client = await connect();
    const bar = [{ name: 'order', patterns: ['\\b(пиво|эль)\\b', '\\bale\\b'] }];
    const stepOf = async (params: object, message: string): Promise<string> =>
      (await client.sendMessage(await client.createAgent(routed(bar, { ...patterns, ...params })), message)).steps;
    expect(await stepOf({}, 'налей ПИВО')).toBe('sort:order say:default');
    expect(await stepOf({}, 'эльф')).toBe('sort:not_matched say:default');
    expect(await stepOf({}, 'an аlе')).toBe('sort:not_matched say:default');
    expect(await stepOf({ fold: 'confusables' }, 'an аlе')).toBe('sort:order say:default');
  });

  it('takes not_matched, with an empty label, when none matches', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(routed(shop, patterns)), 'Hello.');
    expect(turn).toMatchObject({ text: 'label: ', steps: 'sort:not_matched say:default', warnings: [] });
    expect(routesOf(turn)).toEqual([{ label: '' }]);
  });

  it('ends the turn by the exit of a label that leads nowhere', async () => {
    await using client = await connect();
    const graph = routed(shop, patterns);
    const sort = { ...graph.nodes['sort'], type: 'Route', exits: { not_matched: 'say' } };
    const agentId = await client.createAgent({ ...graph, nodes: { ...graph.nodes, sort } });
    expect(await client.sendMessage(agentId, 'ale')).toMatchObject({ text: '', steps: 'sort:order' });
  });

  it('says in later calls of the turn why they came', async () => {
    await using client = await connect();
    const sort = { type: 'Route', params: { labels: shop, ...patterns }, exits: { order: 'act', not_matched: 'act' } };
    const act = { type: 'ToolCall', params: { tools: [setLight] } };
    const agentId = await client.createAgent({ start_node: 'sort', nodes: { sort, act } });
    const because = async (message: string) => (await client.sendMessage(agentId, message)).calls[0]?.because;
    expect(await because('I buy the porch')).toBe('order');
    expect(await because('the porch')).toBe('');
  });

  it('replaces the label of an earlier Route of the turn', async () => {
    await using client = await connect();
    const again = { type: 'Route', params: { labels: [{ name: 'late', patterns: ['night'] }], ...patterns } };
    const exits = { late: 'say', not_matched: 'say' };
    const { nodes } = routed(shop, patterns);
    const sort = { ...nodes['sort'], type: 'Route', exits: { order: 'again' } };
    const agentId = await client.createAgent({
      start_node: 'sort',
      nodes: { ...nodes, sort, again: { ...again, exits } },
    });
    expect(await client.sendMessage(agentId, 'an ale at night')).toMatchObject({ text: 'label: late' });
    expect(await client.sendMessage(agentId, 'an ale at noon')).toMatchObject({ text: 'label: ' });
  });

  it.each(['a "b" | <c> {d} (e)', 'constructor', '__proto__', '7', 'größer als 🍺', 'default', '~/'])(
    'may have the label %s',
    async (name) => {
      await using client = await connect();
      const labels = [
        { name: 'other', patterns: ['x'] },
        { name, patterns: ['ale'] },
      ];
      const agentId = await client.createAgent(routed(labels, patterns));
      const turn = await client.sendMessage(agentId, 'ale');
      expect(turn).toMatchObject({ text: `label: ${name}`, path: [{ exit: name }, { exit: 'default' }] });
      expect(routesOf(turn)).toEqual([{ label: name }]);
    },
  );

  it('keeps its labels: they are its exits', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(routed(shop, patterns));
    const change = { agentId, nodeName: 'sort', paramsJson: JSON.stringify({ labels: shop.slice(1) }) };
    expect(errorOf(await client.request('changeParams', change))).toMatchObject({
      code: 3006,
      message: 'sort.params.labels is fixed when the agent is made; make a new agent to change it',
    });
  });

  it('is refused with all faults of its labels at once', async () => {
    await using client = await connect();
    const labels = [
      { name: 'order', patterns: ['(?=x)', '('] },
      { name: 'not_matched' },
      { name: 'order', patterns: ['fine', ''] },
    ];
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(routed(labels)) });
    const { code, detail } = errorOf(answer);
    expect(code).toBe(3003);
    const faults = JSON.parse(detail) as readonly { readonly pointer: string; readonly message: string }[];
    const place = 'sort.params.labels';
    expect(faults.map(({ message }) => message)).toEqual([
      `${place}[1].name is "not_matched", the exit of messages without a label; give it another name`,
      `${place}[2].name is the name of labels[0], too; give it another one`,
      expect.stringContaining(`${place}[0].patterns[0] is not a supported pattern`),
      expect.stringContaining(`${place}[0].patterns[1] is not a supported pattern`),
      `${place}[2].patterns[1] is empty, and would match every text; remove it`,
    ]);
    expect(faults[2]?.pointer).toBe('/nodes/sort/params/labels/0/patterns/0');
  });

  const place = 'sort.params.labels';
  const badName = 'must fit (The name of the label and of its exit: 1 to 64 characters on one line';
  it.each([
    ['without labels', {}, `${place} is missing`],
    ['with an empty list', { labels: [] }, `${place} must not be empty`],
    ['with 65 labels', { labels: many(65) }, `${place} must have at most 64 items`],
    ['with a label without a name', { labels: [{ when: 'x' }] }, `${place}[0].name is missing`],
    ['with an empty name', { labels: [{ name: '' }] }, `${place}[0].name must not be empty`],
    ['with a name that is too long', { labels: [{ name: 'x'.repeat(65) }] }, 'must have at most 64 characters'],
    ['with a line break in a name', { labels: [{ name: 'a\nb' }] }, badName],
    ['with a control character in a name', { labels: [{ name: 'a\u009b' }] }, badName],
    ['with a line separator in a name', { labels: [{ name: 'a\u2028b' }] }, badName],
    [
      'with half a character in a name',
      { labels: [{ name: 'a\ud83c' }] },
      'at 1:84: half of a surrogate pair, \\ud83c',
    ],
    ['with a space before a name', { labels: [{ name: ' a' }] }, badName],
    ['with a name of spaces', { labels: [{ name: '  ' }] }, badName],
    ['with an empty example', { labels: [{ name: 'a', examples: [''] }] }, `${place}[0].examples[0] must not be empty`],
    ['with a typo', { labels: [{ name: 'a', pattern: [] }] }, `${place}[0].pattern is not known here; did you mean`],
    ['with a threshold of more than 1', { labels: many(2), threshold: 1.5 }, 'sort.params.threshold must be <= 1'],
    ['with another match', { labels: many(2), match: 'pattern' }, 'did you mean "patterns"?'],
  ])('is refused %s', async (_, params, message) => {
    await using client = await connect();
    const graph = { start_node: 'sort', nodes: { sort: { type: 'Route', params } } };
    const error = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    expect(error.code).toBe(3003);
    expect(error.message).toContain(message);
  });

  it('is refused with more patterns than a node may have', async () => {
    await using client = await connect();
    const labels = Array.from({ length: 11 }, (_, index) => ({
      name: `l${index}`,
      patterns: Array.from({ length: 1000 }, (__, number) => `word${number}`),
    }));
    expect(
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(routed(labels, patterns)) })),
    ).toMatchObject({
      code: 2005,
      message: expect.stringMatching(/^sort\.params\.labels has 11000 patterns in all, and \d+ are allowed/) as unknown,
    });
  });

  const model = { match: 'model' };
  it.each([
    [
      'a label without patterns',
      [{ name: 'never' }, ...shop],
      patterns,
      ['labels[0] never matches: it has no patterns'],
    ],
    [
      'a pattern that matches every text',
      [{ name: 'all', patterns: ['x', '.*'] }, ...shop],
      patterns,
      ['labels[0].patterns[1] matches every text: the labels after it never match'],
    ],
    [
      'no pattern that matches every text in the last label',
      [...shop, { name: 'all', patterns: ['.*'] }],
      patterns,
      [],
    ],
    ['a threshold', shop, { ...patterns, threshold: 0.5 }, ['threshold is not used with "match": "patterns"']],
    [
      'a model',
      shop,
      { ...patterns, model_name: 'turngraph-demo' },
      ['model_name is not used with "match": "patterns"'],
    ],
    [
      'patterns that a model does not use',
      shop,
      model,
      ['labels has patterns, which are not used; set sort.params.match to "patterns", or remove them'],
    ],
    [
      'the only label',
      [{ name: 'one' }],
      model,
      ['labels has one label, which always has the probability 1; add one for all other messages'],
    ],
    ['no labels without a description', [{ name: 'one' }, { name: 'two' }], model, []],
  ])('warns of %s', async (_, labels, params, warnings) => {
    await using client = await connect();
    const { body, ...answer } = await client.request('createAgent', {
      graphJson: JSON.stringify(routed(labels, params)),
    });
    expect(body).toBe('createAgent');
    expect(answer).toMatchObject({ createAgent: { warnings: warnings.map((text) => `sort.params.${text}`) } });
  });
});

function many(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({ name: `l${index}` }));
}
