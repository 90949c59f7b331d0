import { describe, expect, it } from 'vitest';
import type { GraphDocument } from '../helpers/graphs.ts';
import { errorOf, subprotocols, TestClient, useServer, type TurnResult } from '../helpers/server.ts';

const server = useServer({ script: [{ match: '', answer: 'I see.' }] });

const entries = [
  { id: 'town', text: 'Pellmoor lies on the lake.', always: true, level: 1, kind: 'place' },
  { id: 'mayor', text: 'The mayor is Oda Brask, a cartwright.', level: 1, kind: 'person' },
  { id: 'smith', text: 'The blacksmith Harl sharpens blades.', level: 2, kind: 'person' },
  { id: 'ferry', text: 'The ferry to the abbey leaves at noon.', level: 5, kind: 'place', keys: ['boat'] },
  { id: 'abbey', text: 'The abbey keeps a library of books.', level: 9, kind: 'place' },
  { id: 'eel', text: 'Smoked eel is eaten at breakfast.', level: 1, kind: 'custom' },
];
const storage = {
  name: 'tales',
  kind: 'KNOWLEDGE',
  strings: entries.map(({ text }) => text),
  keys: entries.map(({ id }) => id),
  metadataJson: entries.map(({ always = false, keys = [], level, kind }) =>
    JSON.stringify({ always, keys, metadata: { level, kind } }),
  ),
} as const;

const line = (text: string) => ({ type: 'CannedResponse', params: { inline_strings: [text] } });

/** Looks up the lore, and sends the ids of what it found. */
const lookUp = (params: object = {}): GraphDocument => ({
  start_node: 'find',
  nodes: {
    find: {
      type: 'Retrieve',
      params: { string_storage: 'tales', source: 'lore', ...params },
      exits: { found: 'found', not_found: 'nothing' },
    },
    found: line('found: {{#knowledge_lore}}{{id}} {{/knowledge_lore}}'),
    nothing: line('nothing: {{#knowledge_lore}}{{id}} {{/knowledge_lore}}'),
  },
});

describe.each(subprotocols)('over %s, Retrieve', (subprotocol) => {
  /** A client with the storage `lore`. */
  async function connect(): Promise<TestClient> {
    const client = await TestClient.connect(server().url, subprotocol);
    expect(await client.request('createStringStorage', storage)).toMatchObject({ body: 'createStringStorage' });
    return client;
  }
  const changeParams = (client: TestClient, agentId: number, nodeName: string, params: object) =>
    client.request('changeParams', { agentId, nodeName, paramsJson: JSON.stringify(params) });
  /** The answer of a new agent to the last of some messages. */
  async function answerOf(client: TestClient, graph: GraphDocument, ...texts: readonly string[]): Promise<string> {
    const agentId = await client.createAgent(graph);
    let answer = '';
    for (const text of texts) answer = (await client.sendMessage(agentId, text)).text;
    return answer;
  }

  it.each<[string, object, string]>([
    ['Who is the mayor?', {}, 'found: mayor town '],
    ['Where is the blacksmith, and where is the ferry?', { top_k: 1 }, /^found: (smith|ferry) town $/ as never],
    ['May I take a boat?', {}, 'found: ferry town '],
    ['What is the price of xylophones?', {}, 'nothing: town '],
    ['', {}, 'nothing: town '],
    ['I say!', { query: 'the mayor of {{user_message}}' }, 'found: mayor town '],
    ['Who is the mayor?', { filter: { kind: { $ne: 'person' } } }, 'nothing: town '],
    ['Who is the mayor?', { filter: { kind: 'person' } }, 'found: mayor '],
  ])('finds the entries for %j with %j', async (text, params, answer) => {
    await using client = await connect();
    expect(await answerOf(client, lookUp(params), text)).toEqual(expect.stringMatching(answer));
  });

  it('reads earlier messages of the user as a part of the query', async () => {
    await using client = await connect();
    const texts = ['Tell me of the mayor.', 'And the smoked eel?', 'Go on.'];
    expect(await answerOf(client, lookUp(), ...texts)).toBe('nothing: town ');
    expect(await answerOf(client, lookUp({ history: 1 }), ...texts)).toBe('found: eel town ');
    expect(await answerOf(client, lookUp({ history: 2 }), ...texts)).toMatch(/^found: (eel mayor|mayor eel) town $/);
    const words = Array.from({ length: 300 }, (_, index) => `stuff${index}`).join(' ');
    expect(await answerOf(client, lookUp({ history: 1 }), words, 'the mayor')).toBe('found: mayor town ');
    const long = ['Tell me of the mayor.', 'x'.repeat(70_000), 'Go on.'];
    expect(await answerOf(client, lookUp({ history: 2 }), ...long)).toBe('nothing: town ');
  });

  it('puts what this message finds before what earlier ones find', async () => {
    await using client = await connect();
    const twice = ['Who is the mayor, the old mayor of the town, the mayor?', 'And the eel?'];
    expect(await answerOf(client, lookUp({ history: 1 }), ...twice)).toMatch(/^found: eel mayor .*town $/);
    expect(await answerOf(client, lookUp({ history: 1, top_k: 1 }), ...twice)).toBe('found: eel town ');
  });

  it('takes a variable of its filter from the turn, and warns where the turn has none', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lookUp({ filter: { level: { $lte: { $variable: 'level' } } } }));
    const ask = (variables: Readonly<Record<string, string>>): Promise<TurnResult> =>
      client.sendMessage(agentId, 'the library of the abbey', variables);
    expect(await ask({ level: '9' })).toMatchObject({ text: expect.stringMatching(/^found: abbey /) as string });
    expect(await ask({ level: '5' })).toMatchObject({ text: 'found: ferry town ', warnings: [] });
    expect(await ask({})).toMatchObject({
      text: 'nothing: ',
      warnings: [
        'find.params.filter has the variable "level", which this turn does not have: no entry matches that condition',
      ],
    });
  });

  it('gives later templates the blocks of all its nodes, and the texts to the prompt', async () => {
    await using client = await connect();
    const find = (params: object, next: string) => ({
      type: 'Retrieve',
      params: { string_storage: 'tales', filter: { level: { $lt: 100 } }, ...params },
      exits: { found: next, not_found: next },
    });
    const agentId = await client.createAgent(
      {
        start_node: 'mayor',
        nodes: {
          mayor: find({ query: 'mayor' }, 'again'),
          again: find({ query: 'eel', source: 'mayor' }, 'none'),
          none: find({ query: 'nothing of all this', source: 'none', filter: { kind: 'person' } }, 'answer'),
          answer: {
            type: 'Generate',
            params: { template: '{{#knowledge}}{{name}}:{{#chunks}} {{text}}{{/chunks}};{{/knowledge}}' },
            exits: { default: 'say' },
          },
          say: line('{{#knowledge}}{{name}}:{{#chunks}} {{id}}{{/chunks}};{{/knowledge}}'),
        },
      },
      { enableDiagnostics: true },
    );
    const turn = await client.sendMessage(agentId, 'hello');
    expect(turn).toMatchObject({ text: 'I see.mayor: mayor town eel;none:;', warnings: [] });
    const events = turn.frames.flatMap((frame) => (frame.body === 'nodeEvent' ? [frame.nodeEvent] : []));
    const prompt = events.find(({ eventType }) => eventType === 'inference')?.payloadJson;
    expect(prompt).toContain('mayor: The mayor is Oda Brask, a cartwright. Pellmoor lies on the lake. Smoked eel');
  });

  it('tells what was found, with diagnostics on', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lookUp(), { enableDiagnostics: true });
    const eventOf = ({ frames }: TurnResult): unknown => {
      const events = frames.flatMap((frame) => (frame.body === 'nodeEvent' ? [frame.nodeEvent] : []));
      const event = events.find(({ eventType }) => eventType === 'retrieved');
      return JSON.parse(event?.payloadJson ?? 'null') as unknown;
    };
    expect(eventOf(await client.sendMessage(agentId, 'Who is the mayor?'))).toEqual({
      source: 'lore',
      query: 'Who is the mayor?',
      found: true,
      hits: [
        { id: 'mayor', score: expect.any(Number) as number },
        { id: 'town', score: 0 },
      ],
    });
    expect(eventOf(await client.sendMessage(agentId, 'xylophones'))).toMatchObject({
      found: false,
      hits: [{ id: 'town' }],
    });
  });

  it('searches the strings of the graph, by their indexes', async () => {
    await using client = await connect();
    const { string_storage: _, ...params } = { string_storage: '', inline_strings: ['A cat.', 'A dog.', 'A fox.'] };
    const graph = lookUp();
    const find = { ...graph.nodes['find'], type: 'Retrieve', params: { ...params, source: 'lore' } };
    expect(await answerOf(client, { ...graph, nodes: { ...graph.nodes, find } }, 'the dog')).toBe('found: 1 ');
  });

  it('changes between turns: a filter is replaced, and another storage is searched', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lookUp({ filter: { kind: 'place' } }));
    const ask = async (): Promise<string> => (await client.sendMessage(agentId, 'the mayor')).text;
    expect(await ask()).toBe('nothing: town ');
    await changeParams(client, agentId, 'find', { filter: { level: 1 } });
    expect(await ask()).toBe('found: mayor town ');
    await client.request('createStringStorage', {
      name: 'other',
      kind: 'LIST',
      strings: ['No mayor.', 'No eel.', 'A fox.'],
    });
    expect(await changeParams(client, agentId, 'find', { string_storage: 'other', filter: null })).toMatchObject({
      body: 'ack',
    });
    expect(await ask()).toBe('found: 0 ');
    await changeParams(client, agentId, 'find', { source: 'elsewhere' });
    expect(await client.sendMessage(agentId, 'the mayor')).toMatchObject({
      text: 'found: ',
      path: [{ exit: 'found' }, {}],
    });
  });

  it.each<[object, string]>([
    [
      { filter: { $or: [{ level: 1 }, { kind: { $like: 'x' } }] } },
      'find.params.filter.$or[1].kind.$like is no operator',
    ],
    [{ filter: { $or: [] } }, 'find.params.filter.$or must be a list of filters, not empty'],
    [{ query: '{{#open}}' }, 'find.params.query is not a valid Mustache template'],
    [{ top_k: 0 }, 'find.params.top_k must be >= 1'],
    [{ source: 'my.lore' }, 'find.params.source must fit (The SOURCE in knowledge_SOURCE of templates'],
    [{ string_storage: 'lroe' }, 'find.params.string_storage cannot be used: "lroe" is neither a storage'],
  ])('refuses %j with its place, in a graph and between turns', async (params, message) => {
    await using client = await connect();
    const refused = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(lookUp(params)) }));
    const isMissing = 'string_storage' in params;
    expect(refused).toMatchObject({
      code: isMissing ? 3010 : 3003,
      message: expect.stringContaining(message) as string,
    });
    const agentId = await client.createAgent(lookUp());
    const unchanged = errorOf(await changeParams(client, agentId, 'find', params));
    expect(unchanged).toMatchObject({
      code: isMissing ? 3010 : 3007,
      message: expect.stringContaining(message) as string,
    });
    expect(await client.sendMessage(agentId, 'Who is the mayor?')).toMatchObject({ text: 'found: mayor town ' });
  });

  it('knows the fields that a file declares', async () => {
    await using client = await connect();
    const graph = lookUp({ string_storage: 'lore/pellmoor.kb.json', filter: { min_levle: 3 } });
    expect(errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }))).toMatchObject({
      code: 3003,
      message: expect.stringMatching(
        /^find\.params\.filter\.min_levle is not among the fields.*did you mean "min_level"\?$/,
      ) as string,
    });
  });

  it('that finds more than the context holds fails the turn, and names what to lower', async () => {
    await using client = await connect();
    const strings = Array.from(
      { length: 40 },
      (_, index) => `The mayor, part ${index}. ${'So it is told. '.repeat(150)}`,
    );
    await client.request('createStringStorage', {
      name: 'long',
      kind: 'LIST',
      strings: [...strings, ...Array<string>(60).fill('-')],
    });
    const agentId = await client.createAgent({
      start_node: 'find',
      nodes: {
        find: { type: 'Retrieve', params: { string_storage: 'long', top_k: 40 }, exits: { found: 'answer' } },
        answer: { type: 'Generate', params: { template: '{{#knowledge_find}}{{text}}{{/knowledge_find}}' } },
      },
    });
    const turn = await client.sendMessage(agentId, 'the mayor');
    expect(turn.error).toMatchObject({
      name: 'PROMPT_TOO_LARGE',
      message: expect.stringMatching(
        /the prompt has 40 entries of knowledge_find with \d+ characters: lower top_k/,
      ) as string,
    });
    await changeParams(client, agentId, 'find', { top_k: 2 });
    expect(await client.sendMessage(agentId, 'the mayor')).toMatchObject({ text: 'I see.' });
  });

  it.each<[object, RegExp]>([
    [
      { match: 'vectors' },
      /^find\.params\.match is "vectors", and neither the node nor its storage names an embedding_model/,
    ],
    [
      { match: 'both', embedding_model: 'turngraph-demo' },
      /^find\.params\.embedding_model cannot be used: .*turngraph-demo/,
    ],
  ])('refuses %j', async (params, message) => {
    await using client = await connect();
    const refused = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(lookUp(params)) }));
    expect(refused).toMatchObject({ code: 3003, message: expect.stringMatching(message) as string });
  });
});

describe('a graph with a Retrieve', () => {
  it.each<[object, string]>([
    [{ min_similarity: 0.5, embedding_model: 'x' }, 'find.params.min_similarity is not used with "match": "words"'],
    [
      { string_storage: 'only', filter: null },
      'find.params.string_storage has no entry to find: this Retrieve never finds one',
    ],
    [
      { source: undefined },
      'found, line 0 names {{knowledge_lore}}, and no node of the graph finds knowledge for "lore"',
    ],
  ])('with %j is created with a warning', async (params, warning) => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json');
    await client.request('createStringStorage', storage);
    await client.request('createStringStorage', {
      name: 'only',
      kind: 'KNOWLEDGE',
      strings: ['A'],
      keys: ['a'],
      metadataJson: ['{"always": true}'],
    });
    const { filter: _, ...given } = { filter: null, ...params };
    const created = await client.request('createAgent', { graphJson: JSON.stringify(lookUp(given)) });
    expect(created).toMatchObject({ createAgent: { warnings: expect.arrayContaining([warning]) as string[] } });
  });
});
