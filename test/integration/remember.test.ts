import { describe, expect, it } from 'vitest';
import type { ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { Gate } from '../helpers/gate.ts';
import type { ScriptLine } from '../helpers/heldEngine.ts';
import { override } from '../helpers/heldEngine.ts';
import { errorOf, startTestServer, subprotocols, TestClient } from '../helpers/server.ts';

type NodeEvent = ServerFrameBodies['nodeEvent'];

/** A character that finds what it has remembered, answers, and remembers. */
const tavern = (params: object = {}, storage = 'memories') => ({
  start_node: 'recall',
  nodes: {
    recall: { type: 'Retrieve', params: { string_storage: storage }, exits: { found: 'tell', not_found: 'listen' } },
    tell: {
      type: 'CannedResponse',
      params: { inline_strings: ['{{knowledge_recall.0.text}}'] },
      exits: { default: 'memory' },
    },
    listen: { type: 'CannedResponse', params: { inline_strings: ['I see.'] }, exits: { default: 'memory' } },
    memory: { type: 'Remember', params: { string_storage: storage, ...params } },
  },
});

const facts = (...list: readonly (string | object)[]): string =>
  JSON.stringify({ facts: list.map((fact) => (typeof fact === 'string' ? { text: fact } : fact)) });
const line = (match: string, ...list: readonly (string | object)[]): ScriptLine => ({
  node: 'memory',
  match: `^${match}$`,
  answer: facts(...list),
});
const nothing: ScriptLine = { node: 'memory', answer: facts() };

interface Setting {
  readonly params?: object;
  /** Of which the first one is a remembered fact. */
  readonly memories?: readonly string[];
  readonly maxKnowledgeEntries?: number;
}

describe.each(subprotocols)('over %s, a Remember node', (subprotocol) => {
  const serve = async (
    script: readonly ScriptLine[],
    { params = {}, memories = [], maxKnowledgeEntries = 100 }: Setting = {},
  ) => {
    const server = await startTestServer({ script: [...script, nothing], maxKnowledgeEntries });
    const client = await TestClient.connect(server.url, subprotocol);
    const keys = memories.map((_, index) => (index === 0 ? 'remembered-0' : `lore-${index}`));
    await client.request('createStringStorage', { name: 'memories', kind: 'KNOWLEDGE', strings: memories, keys });
    const agentId = await client.createAgent(tavern(params));
    const say = (text: string) => client.sendMessage(agentId, text);
    const later = (): readonly NodeEvent[] =>
      client.received.flatMap((frame) =>
        frame.requestId === 0 && frame.body === 'nodeEvent' ? [frame.nodeEvent] : [],
      );
    /** Says something, and waits for so many events after the turn. */
    const tell = async (text: string, events = 1) => {
      const before = later().length;
      const turn = await say(text);
      await client.waitFor(() => later().length >= before + events);
      return {
        turn,
        events: later()
          .slice(before)
          .map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson)]),
      };
    };
    /** The warnings of the first later turn that has some. */
    const warnings = async () => {
      for (let turn = 0; turn < 100; turn++) {
        const ended = await say('Hello');
        if (ended.warnings.length > 0) return ended.warnings;
      }
      return [];
    };
    return {
      warnings,
      client,
      agentId,
      say,
      later,
      tell,
      async [Symbol.asyncDispose]() {
        await client[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  };

  it('keeps what the user says after the turn, and a Retrieve finds it in later turns', async () => {
    await using game = await serve([
      line('My sister Ada lives in Kiel', 'The user has a sister named Ada, who lives in Kiel.'),
    ]);
    const { turn, events } = await game.tell('My sister Ada lives in Kiel');
    expect(turn).toMatchObject({ text: 'I see.', steps: 'recall:not_found listen:default memory:default' });
    const [[type, payload] = []] = events;
    expect([type, payload]).toEqual([
      'remembered',
      { ids: [expect.stringMatching(/^remembered-/)], texts: ['The user has a sister named Ada, who lives in Kiel.'] },
    ]);
    expect(game.later()[0]).toMatchObject({ agentId: game.agentId, turnId: 1, nodeName: 'memory', part: 1, of: 1 });
    expect((await game.say('Where does my sister live?')).text).toBe(
      'The user has a sister named Ada, who lives in Kiel.',
    );
    const search = { name: 'memories', query: 'sister', filterJson: '{"who": "user", "turn": {"$lte": 1}}' };
    const found = await game.client.request('searchStorage', search);
    expect(JSON.parse(found.body === 'searchStorage' ? found.searchStorage.hitsJson : '')).toMatchObject([
      { id: payload.ids[0], metadata: { who: 'user', turn: 1, time: expect.any(Number) } },
    ]);
  });

  it('keeps nothing that the user did not say and the character did not do', async () => {
    const facts = [
      'I see',
      'The user has a dragon.',
      'The user hates three rats.',
      'The user hates rats.',
      'The user hated rats!',
    ];
    await using game = await serve([line('I hate rats', ...facts)], { params: { max_facts: 5 } });
    expect((await game.tell('I hate rats')).events).toMatchObject([
      ['remembered', { texts: ['The user hates rats.'] }],
    ]);
  });

  it('replaces a fact that a new one contradicts or repeats, and no entry of others', async () => {
    const blue = 'The favourite colour of the user is blue.';
    await using game = await serve(
      [
        line('My favourite colour is green now', {
          text: 'The favourite colour of the user is green now.',
          replaces: 1,
        }),
        line('My favourite colour is still green now', 'The favourite colour of the user is still green, now.'),
        line('Green, as I said', 'The favourite colour of the user is still green, now.'),
      ],
      { memories: [blue, 'The favourite colour of the user of old is green now.'] },
    );
    const { client } = game;
    const { events } = await game.tell('My favourite colour is green now', 2);
    expect(events).toEqual([
      ['forgotten', { ids: ['remembered-0'], texts: [blue] }],
      ['remembered', { ids: ['remembered-0'], texts: ['The favourite colour of the user is green now.'] }],
    ]);
    expect((await game.tell('My favourite colour is still green now', 2)).events[0]).toMatchObject(['forgotten', {}]);
    await game.say('Green, as I said');
    const found = await client.request('searchStorage', { name: 'memories', query: 'favourite colour', topK: 9 });
    expect(JSON.parse(found.body === 'searchStorage' ? found.searchStorage.hitsJson : '')).toMatchObject([
      { id: 'remembered-0', text: 'The favourite colour of the user is still green, now.' },
      { id: 'lore-1' },
    ]);
  });

  it('works within the turn at another priority, and looks at several turns at once', async () => {
    const both = line('I fear wolves', 'The user likes plums.', 'The user fears wolves.');
    await using game = await serve([both], { params: { priority: 'URGENT', every_turns: 2 } });
    expect((await game.say('I like plums')).events).toEqual([]);
    const turn = await game.say('I fear wolves');
    expect(turn.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson).texts])).toEqual([
      ['remembered', ['The user likes plums.', 'The user fears wolves.']],
    ]);
    expect(turn).toMatchObject({ stopReason: 'END', tokensGenerated: 20 });
    expect(game.later()).toEqual([]);
  });

  it('counts turns, in which lines may have been added', async () => {
    const both = line('I fear wolves', 'The user likes plums.', 'The user fears wolves.');
    await using game = await serve([both], { params: { priority: 'URGENT', every_turns: 2 } });
    const { client, agentId } = game;
    await game.say('I like plums');
    for (const text of ['The plums are ripe.', 'The oven is hot.', 'The cake is done.'])
      await client.request('appendText', { agentId, text, role: 'assistant', notify: false });
    expect((await game.say('I fear wolves')).events).toMatchObject([
      { payloadJson: expect.stringContaining('"The user likes plums.", "The user fears wolves."') },
    ]);
  });

  it('never delays the next turn, and is stopped by clearDialog and the end of the agent', async () => {
    const gate = new Gate();
    await using game = await serve([{ ...line('My name is .*', 'The user is named Ada.'), gate, piecesBeforeGate: 0 }]);
    const { client, agentId } = game;
    await game.say('My name is Ada');
    expect(await game.say('Hello')).toMatchObject({ status: 'SUCCESS' });
    await client.request('clearDialog', { agentId });
    gate.open();
    expect((await game.tell('My name is Ada')).events).toMatchObject([
      ['remembered', { texts: ['The user is named Ada.'] }],
    ]);
    expect(game.later()).toHaveLength(1);
    gate.close();
    await game.say('My name is not Ada');
    expect(await client.request('destroyAgent', { agentId })).toMatchObject({ body: 'ack' });
    expect(game.later()).toHaveLength(1);
  });

  it('that fails, or whose storage is full, is a warning of a later turn', async () => {
    const script = [
      { node: 'memory', match: '^My name', answer: '{"facts": [' },
      line('I am tall', 'The user is tall.'),
    ];
    await using game = await serve(script, { memories: ['The user hates rats.'], maxKnowledgeEntries: 1 });
    await game.say('My name is Ada');
    expect(await game.warnings()).toEqual([
      'memory on visit 1 ("My name is Ada") failed: what the model wrote as the list of facts is none; choose another model',
    ]);
    await game.say('I am tall');
    expect(await game.warnings()).toEqual([
      expect.stringMatching(
        /^memory on visit \d+ \("I am tall"\) failed: "memories" has 2 entries, and 1 are allowed$/,
      ),
    ]);
  });

  it('is refused without a KNOWLEDGE, and with a model that cannot be constrained', async () => {
    const engine = mockEngine();
    const mock = override(engine, {
      load: async (...args: Parameters<typeof engine.load>) =>
        override(await engine.load(...args), { limits: { grammars: 'the server has no grammars' } }),
    });
    await using server = await startTestServer({ engines: { mock } });
    await using client = await TestClient.connect(server.url, subprotocol);
    const create = async (): Promise<string> =>
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(tavern()) })).message;
    expect(await create()).toContain('"memories" is neither a storage of this session nor a file');
    await client.request('createStringStorage', { name: 'memories', strings: ['a line'] });
    expect(await create()).toContain('names the LIST storage "memories", and facts are kept in a KNOWLEDGE only');
    await client.request('destroyStringStorage', { name: 'memories' });
    await client.request('createStringStorage', { name: 'memories', kind: 'KNOWLEDGE' });
    expect(await create()).toContain('model_name cannot be had from this model: the server has no grammars');
  });
});
