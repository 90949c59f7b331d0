import { describe, expect, it } from 'vitest';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import type { GraphDocument } from '../helpers/graphs.ts';
import { errorOf, subprotocols, TestClient, type TurnResult, useServer } from '../helpers/server.ts';
import { watchEmbeddings } from '../helpers/watchedEmbeddings.ts';

// The mock engine hashes words to vectors: texts are near if they share words.
const embeddingModel = 'BGE Small English v1.5 33M (Q8_0)';
let embedded: string[] = [];
const server = useServer({
  script: [],
  engines: { mock: watchEmbeddings(mockEngine(), (text) => embedded.push(text)) },
});

const labels = [
  { name: 'lamp', examples: ['turn the lamp on', 'make it bright in here'] },
  { name: 'door', examples: ['open the door', 'unlock the door please'] },
  { name: 'music', examples: ['play a song', 'start the music'] },
];
const vectors = { match: 'vectors', embedding_model: embeddingModel };
const bounds = { threshold: 0.5, margin: 0.1 };

/** Chooses a label by examples, and answers with a line that names it; each listed exit leads there. */
const sorted = (params: object, exits: readonly string[] = []): GraphDocument => ({
  start_node: 'sort',
  nodes: {
    sort: {
      type: 'Route',
      params: { ...vectors, ...params },
      exits: Object.fromEntries(exits.map((exit) => [exit, 'say'])),
    },
    say: { type: 'CannedResponse', params: { inline_strings: ['label: {{route.label}}, {{route}}'] } },
  },
});
const ofLabels = (params: object = bounds): GraphDocument =>
  sorted({ labels, ...params }, [...labels.map(({ name }) => name), 'no_match']);

const intents = {
  name: 'intents',
  kind: 'KNOWLEDGE',
  keys: ['1', '2', '3', '4', '5'],
  strings: ['turn the lamp on', 'open the door', 'play a song', 'open the secret door', 'a text without an intent'],
  metadataJson: [
    '{"metadata": {"intent": "lamp", "level": 1}, "always": true}',
    '{"metadata": {"intent": "door", "level": 1}, "keys": ["song"]}',
    '{"metadata": {"intent": "music", "level": 1}}',
    '{"metadata": {"intent": "secret", "level": 7}}',
    '{"metadata": {"level": 1}}',
  ],
} as const;
const stored = { string_storage: 'intents', label_field: 'intent' };

interface Routed {
  readonly label: string;
  readonly similarity: number;
  readonly margin: number;
  readonly nearest: string;
}
const routedOf = ({ events }: Pick<TurnResult, 'events'>): readonly Routed[] =>
  events.flatMap(({ eventType, payloadJson }) => (eventType === 'routed' ? [JSON.parse(payloadJson) as Routed] : []));

describe.each(subprotocols)('a Route by examples, over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const withIntents = async (): Promise<TestClient> => {
    const client = await connect();
    await client.request('createStringStorage', { ...intents, keys: [...intents.keys], strings: [...intents.strings] });
    return client;
  };
  /** The message of the error that a graph is refused with. */
  const refusal = async (client: TestClient, graph: GraphDocument) => {
    const { code, message } = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(graph) }));
    return { code, message };
  };
  const warningsOf = async (client: TestClient, graph: GraphDocument): Promise<readonly string[]> => {
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    if (answer.body !== 'createAgent') throw new Error(JSON.stringify(answer));
    return answer.createAgent.warnings;
  };

  it('takes the exit of the label whose example is nearest, and says why, without a language model', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(ofLabels()), 'please open this door');
    expect(turn).toMatchObject({
      text: 'label: door, door',
      steps: 'sort:door say:default',
      tokensPrompt: 0,
      warnings: [],
    });
    const [event, ...others] = routedOf(turn);
    expect(others).toEqual([]);
    expect(event).toEqual({
      label: 'door',
      similarity: expect.closeTo(event?.similarity ?? 0) as unknown,
      margin: expect.closeTo(event?.margin ?? 0) as unknown,
      nearest: 'open the door',
    });
    expect(event?.similarity).toBeGreaterThan(0.5);
    expect(event?.margin).toBeGreaterThan(0.1);
    const same = await client.sendMessage(await client.createAgent(ofLabels()), 'start the music');
    expect(routedOf(same)).toMatchObject([{ label: 'music', similarity: expect.closeTo(1, 5) as unknown }]);
    expect(turn.events.map(({ eventType }) => eventType)).not.toContain('route');
  });

  it('takes no_match, without a label, where nothing is near or two labels are alike', async () => {
    await using client = await connect();
    const far = await client.sendMessage(await client.createAgent(ofLabels()), 'what is love');
    expect(far).toMatchObject({ text: 'label: , ', steps: 'sort:no_match say:default', warnings: [] });
    expect(routedOf(far)[0]).toMatchObject({ label: '' });
    expect(routedOf(far)[0]?.similarity).toBeLessThan(0.5);
    const both = 'turn the lamp on open the door';
    const unsure = await client.sendMessage(await client.createAgent(ofLabels({ threshold: 0.5, margin: 0.3 })), both);
    expect(unsure.steps).toBe('sort:no_match say:default');
    expect(routedOf(unsure)[0]?.similarity).toBeGreaterThan(0.5);
    expect(routedOf(unsure)[0]?.margin).toBeLessThan(0.3);
    const sure = await client.sendMessage(await client.createAgent(ofLabels({})), both);
    expect(sure.steps).toMatch(/^sort:(lamp|door) say:default$/);
  });

  it('counts an example of a label once, however often it is there', async () => {
    await using client = await connect();
    const [lamp, ...others] = labels;
    const twice = [{ name: 'lamp', examples: [...(lamp?.examples ?? []), 'turn the lamp on'] }, ...others];
    const routed = [];
    for (const each of [labels, twice]) {
      const agent = await client.createAgent(ofLabels({ labels: each }));
      routed.push(...routedOf(await client.sendMessage(agent, 'turn a lamp on')));
    }
    expect(routed[1]).toEqual(routed[0]);
  });

  it('computes the examples once for all agents of a graph, and one vector for a message', async () => {
    await using client = await connect();
    const own = [{ name: 'a', examples: [`first over ${subprotocol}`, 'second'] }];
    const graph = sorted({ labels: own }, ['a']);
    embedded = [];
    const agents = [await client.createAgent(graph), await client.createAgent(graph)];
    for (const agentId of agents) await client.sendMessage(agentId, 'the message');
    expect(embedded.toSorted()).toEqual([...own.flatMap(({ examples }) => examples), 'the message', 'the message']);
  });

  it('has its bounds changed between turns', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(ofLabels({}));
    const step = async (changes: object): Promise<string> => {
      const paramsJson = JSON.stringify(changes);
      const answer = await client.request('changeParams', { agentId, nodeName: 'sort', paramsJson });
      expect(answer.body).not.toBe('error');
      return (await client.sendMessage(agentId, 'open the old door')).steps;
    };
    expect(await step({})).toBe('sort:door say:default');
    expect(await step({ threshold: 0.99 })).toBe('sort:no_match say:default');
    expect(await step({ threshold: 0, margin: 0.99 })).toBe('sort:no_match say:default');
    expect(await step({ margin: null })).toBe('sort:door say:default');
  });

  it('has labels of a KNOWLEDGE: exits are the values that the graph connects, and otherwise', async () => {
    await using client = await withIntents();
    const agentId = await client.createAgent(sorted({ ...stored, ...bounds }, ['door', 'otherwise']));
    const send = async (text: string) => {
      const turn = await client.sendMessage(agentId, text);
      return [turn.steps, routedOf(turn)[0]?.label, turn.text];
    };
    expect(await send('open the door')).toEqual(['sort:door say:default', 'door', 'label: door, door']);
    // Not by its key, and not because it is always there.
    expect(await send('play a song')).toEqual(['sort:otherwise say:default', 'music', 'label: music, music']);
    expect(await send('what is love')).toEqual(['sort:otherwise say:default', '', 'label: , ']);
  });

  it('takes no_match with labels of a KNOWLEDGE, too, if the graph connects it', async () => {
    await using client = await withIntents();
    const agentId = await client.createAgent(sorted({ ...stored, ...bounds }, ['door', 'no_match', 'otherwise']));
    expect((await client.sendMessage(agentId, 'what is love')).steps).toBe('sort:no_match say:default');
    expect((await client.sendMessage(agentId, 'play a song')).steps).toBe('sort:otherwise say:default');
  });

  it('compares the entries that a filter lets through', async () => {
    await using client = await withIntents();
    const filter = { level: { $lte: { $variable: 'level' } } };
    const agentId = await client.createAgent(sorted({ ...stored, filter }, ['door', 'secret', 'otherwise']));
    const text = 'open the secret door';
    const turnOf = (variables: Readonly<Record<string, string>>) => client.sendMessage(agentId, text, variables);
    expect((await turnOf({ level: '7' })).steps).toBe('sort:secret say:default');
    expect((await turnOf({ level: '1' })).steps).toBe('sort:door say:default');
    const none = await turnOf({});
    expect(none.steps).toBe('sort:otherwise say:default');
    expect(routedOf(none)).toEqual([{ label: '', similarity: 0, margin: 0, nearest: '' }]);
    expect(none.warnings).toEqual([expect.stringContaining('sort.params.filter has the variable "level"')]);
    const changed = { agentId, nodeName: 'sort', paramsJson: '{"filter": {"level": {"$above": 1}}}' };
    expect(errorOf(await client.request('changeParams', changed))).toMatchObject({
      code: 3007,
      message: expect.stringContaining('sort.params.filter') as unknown,
    });
    expect((await turnOf({ level: '7' })).steps).toBe('sort:secret say:default');
  });

  const place = 'sort.params';
  it.each<[string, object, string]>([
    ['no embedding model', { labels, embedding_model: '' }, 'names an embedding_model; name one'],
    ['an unknown model', { labels, embedding_model: 'BGE' }, `${place}.embedding_model cannot be used: `],
    ['a language model', { labels, embedding_model: 'turngraph-demo' }, 'computes no vectors; name an embedding model'],
    ['no labels', {}, `${place}.labels is missing; add it, or string_storage and label_field`],
    ['labels without examples', { labels: [{ name: 'a' }] }, `${place}.labels has no examples`],
    ['two sources', { labels, ...stored }, `${place}.string_storage is a second source of labels; remove it`],
    ['a field without a storage', { label_field: 'x' }, `${place}.string_storage is missing: label_field`],
    ['a storage without a field', { string_storage: 'intents' }, `${place}.label_field is missing`],
    ['a storage that is missing', { ...stored, string_storage: 'none' }, `${place}.string_storage cannot be used`],
    ['an absent field', { ...stored, label_field: 'intnt' }, `${place}.label_field "intnt" is no single value`],
    ['a filter on labels', { labels, filter: { level: 1 } }, `${place}.filter needs labels of a string_storage`],
    ['a wrong filter', { ...stored, filter: { level: { $above: 1 } } }, `${place}.filter.level.$above is no operator`],
    ['a label with the name of its exit', { labels: [{ name: 'no_match', examples: ['a'] }] }, 'another name'],
    ['a margin above 1', { labels, margin: 2 }, `${place}.margin must be <= 1`],
  ])('is refused with %s, with the place and the fix', async (_, params, message) => {
    await using client = await withIntents();
    expect((await refusal(client, sorted(params))).message).toContain(message);
  });

  it('is refused with an exit that is no label', async () => {
    await using client = await withIntents();
    expect(await refusal(client, sorted({ labels }, ['lamb']))).toMatchObject({
      code: 3003,
      message: expect.stringMatching(/^sort\.exits\.lamb is no exit of Route .*did you mean "lamp"\?/) as unknown,
    });
    expect(await refusal(client, sorted(stored, ['door', 'lamb']))).toMatchObject({
      code: 3003,
      message: expect.stringMatching(
        /^sort\.exits\.lamb is no value of "intent" in "intents" .*did you mean "lamp"\?/,
      ) as unknown,
    });
  });

  it('is refused with a storage of another kind', async () => {
    await using client = await connect();
    await client.request('createStringStorage', { name: 'intents', kind: 'LIST', keys: [], strings: ['x'] });
    expect((await refusal(client, sorted(stored))).message).toBe(
      'sort.params.string_storage names the LIST storage "intents", and labels come from a KNOWLEDGE (.kb.json) only',
    );
  });

  it('warns of what can never be chosen', async () => {
    await using client = await withIntents();
    const never = [...labels, { name: 'never' }, { name: 'twin', examples: ['open the door'] }];
    expect(await warningsOf(client, sorted({ labels: never, model_name: 'x' }, ['not_matched']))).toEqual(
      expect.arrayContaining([
        'sort.params.model_name is not used with "match": "vectors"',
        'sort.params.labels[3] is never chosen: it has no examples',
        'sort.params.labels[4].examples[0] is an example of labels[1], too: it tells nothing',
        'sort.exits.not_matched is never taken with "match": "vectors": that exit is no_match',
      ]),
    );
    const all = ['lamp', 'door', 'music', 'secret', 'no_match', 'otherwise'];
    expect(await warningsOf(client, sorted(stored, all))).toEqual([
      'sort.params.label_field "intent" is no single value of 1 entries of "intents": they are not compared',
      'sort.exits.otherwise is never taken: all values of "intent" and no_match have exits of their own',
    ]);
    const unused = { match: 'patterns', labels: [{ name: 'a', patterns: ['a'] }], ...stored, margin: 0.1 };
    expect(await warningsOf(client, sorted(unused, ['a', 'not_matched']))).toEqual(
      ['string_storage', 'label_field', 'embedding_model', 'margin'].map(
        (name) => `sort.params.${name} is not used with "match": "patterns"`,
      ),
    );
  });
});

describe.each(subprotocols)('a CannedResponse with a key, over %s', (subprotocol) => {
  const connect = async (): Promise<TestClient> => {
    const client = await TestClient.connect(server().url, subprotocol);
    const strings = ['The door: {{user_message}}', 'The lamp.'];
    await client.request('createStringStorage', { name: 'lines', kind: 'MAP', keys: ['door', 'lamp'], strings });
    await client.request('createStringStorage', { name: 'list', kind: 'LIST', keys: [], strings });
    return client;
  };
  const keyed = (params: object, exits: object = { missing: 'else' }): GraphDocument => ({
    start_node: 'say',
    nodes: {
      say: { type: 'CannedResponse', params: { string_storage: 'lines', ...params }, exits: { ...exits } },
      else: { type: 'CannedResponse', params: { inline_strings: ['Nothing.'] } },
    },
  });

  it('sends the line of its key, and takes missing if there is none', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(keyed({ key: '{{what}}' }));
    const send = (what: string) => client.sendMessage(agentId, 'open', { what });
    expect(await send('door')).toMatchObject({ text: 'The door: open', steps: 'say:default', warnings: [] });
    expect(await send('lamp')).toMatchObject({ text: 'The lamp.', steps: 'say:default' });
    for (const what of ['Lamp', '', 'constructor'])
      expect(await send(what)).toMatchObject({ text: 'Nothing.', steps: 'say:missing else:default' });
  });

  it('answers each label of a Route with the line of its name', async () => {
    await using client = await connect();
    const sort = { type: 'Route', params: { ...vectors, labels }, exits: { lamp: 'say', door: 'say', music: 'say' } };
    const { nodes } = keyed({ key: '{{route.label}}' });
    const agentId = await client.createAgent({ start_node: 'sort', nodes: { sort, ...nodes } });
    expect((await client.sendMessage(agentId, 'turn the lamp on')).text).toBe('The lamp.');
    expect((await client.sendMessage(agentId, 'start the music')).text).toBe('Nothing.');
  });

  it('sends nothing of a held answer where its line is missing', async () => {
    await using client = await connect();
    const { nodes } = keyed({ key: 'none' }, {});
    const talk = { type: 'Generate', params: { hold: true }, exits: { default: 'say' } };
    const agentId = await client.createAgent({ start_node: 'talk', nodes: { talk, ...nodes } });
    expect(await client.sendMessage(agentId, 'Hello.')).toMatchObject({ text: '', steps: 'talk:default say:missing' });
  });

  it('gets another key between turns', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(keyed({ key: 'door' }));
    const change = async (params: object) =>
      client.request('changeParams', { agentId, nodeName: 'say', paramsJson: JSON.stringify(params) });
    await change({ key: 'lamp' });
    expect((await client.sendMessage(agentId, 'Hello.')).text).toBe('The lamp.');
    expect(errorOf(await change({ string_storage: 'list' }))).toMatchObject({ code: 3007 });
    expect((await client.sendMessage(agentId, 'Hello.')).text).toBe('The lamp.');
  });

  it.each<[string, object, string]>([
    ['a storage of another kind', { key: 'a', string_storage: 'list' }, 'and the lines are a LIST; name a .json file'],
    ['lines of the graph', { key: 'a', string_storage: undefined, inline_strings: ['x'] }, 'the lines are a LIST'],
    ['a key that is no template', { key: '{{#a}}' }, 'say.params.key is not a valid Mustache template'],
    ['an empty key', { key: '' }, 'say.params.key must not be empty'],
  ])('is refused with %s', async (_, params, message) => {
    await using client = await connect();
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(keyed(params)) });
    expect(errorOf(answer).message).toContain(message);
  });

  it('warns of a strategy that it does not use, and of a missing line that ends the turn without a word', async () => {
    await using client = await connect();
    const graph = keyed({ key: 'a', selection_strategy: 'first' }, { default: 'else' });
    expect(await client.request('createAgent', { graphJson: JSON.stringify(graph) })).toMatchObject({
      createAgent: {
        warnings: [
          'say.params.selection_strategy is not used: the key chooses the line',
          'say.exits.missing can end a turn in which the client gets neither a text nor a call; lead it to a node that answers',
        ],
      },
    });
  });
});
