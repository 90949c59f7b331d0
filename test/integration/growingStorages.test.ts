import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { StorageEntry, ServerFrame } from '../../src/protocol/frames.gen.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const fields = [
    { name: 'act', type: 'int' },
    { name: 'kind', type: 'string', default: 'rumour' },
  ];
  const records = [{ id: 'mill', text: 'The mill burned down.', metadata: { act: 1 } }];
  await writeFile(join(folder, 'tales.kb.json'), JSON.stringify({ fields, records }));
  const lore = { entries: { 0: { uid: 7, key: ['harbour'], content: 'The harbour is deep.' } } };
  await writeFile(join(folder, 'lore.kb.json'), JSON.stringify(lore));
});
afterAll(() => rm(folder, { recursive: true }));
const server = useServer({
  get storageRoot() {
    return folder;
  },
  maxKnowledgeEntries: 200,
  maxKnowledgeBytes: 2_000_000,
});

const embeddingModel = 'BGE Small English v1.5 33M (Q8_0)';
const entry = (text: string, rest: Partial<StorageEntry> = {}): StorageEntry => ({
  id: '',
  text,
  metadataJson: '',
  keys: [],
  always: false,
  ...rest,
});
const line = (text: string) => ({ type: 'CannedResponse', params: { inline_strings: [text] } });
const lookUp = (params: object = {}) => ({
  start_node: 'find',
  nodes: {
    find: {
      type: 'Retrieve',
      params: { string_storage: 'facts', source: 'facts', ...params },
      exits: { found: 'say', not_found: 'say' },
    },
    say: line('{{#knowledge_facts}}{{text}}{{/knowledge_facts}}'),
  },
});

describe.each(subprotocols)('a storage that grows, over %s', (subprotocol) => {
  /** A client with a storage `facts` that has nothing yet. */
  async function open(): Promise<TestClient> {
    const client = await TestClient.connect(server().url, subprotocol);
    await client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE' });
    return client;
  }
  const add = (client: TestClient, ...entries: readonly StorageEntry[]): Promise<ServerFrame> =>
    client.request('addKnowledge', { storage: 'facts', entries });
  const find = async (client: TestClient, query: string, name = 'facts'): Promise<readonly string[]> => {
    const answer = await client.request('searchStorage', { name, query });
    if (answer.body !== 'searchStorage') throw new Error(JSON.stringify(answer));
    const hits = JSON.parse(answer.searchStorage.hitsJson) as readonly { readonly id: string }[];
    return hits.map(({ id }) => id);
  };
  async function exported(client: TestClient, storage = 'facts') {
    const requestId = client.send('exportStorage', { storage });
    const partsOf = () =>
      client.received.flatMap((frame) =>
        frame.requestId === requestId && frame.body === 'exportStorage' ? [frame.exportStorage] : [],
      );
    await client.waitFor(() => partsOf().some(({ part, of }) => part === of));
    return partsOf();
  }

  it('brings what is added to agents that were there before', async () => {
    await using client = await open();
    const agentId = await client.createAgent(lookUp());
    const ask = async (text: string): Promise<string> => (await client.sendMessage(agentId, text)).text;
    expect(await ask('Who feeds the goat?')).toBe('');
    const oda = entry('Oda feeds the goat.', { id: 'oda', metadataJson: '{"act": 2}', keys: ['billy'] });
    expect(await add(client, oda, entry('The ferry sank.'))).toMatchObject({
      addKnowledge: { ids: ['oda', expect.stringMatching(/^[0-9a-f-]{36}$/) as string], warnings: [] },
    });
    expect(await ask('Who feeds the goat?')).toBe('Oda feeds the goat.');
    expect([await find(client, 'a billy'), (await find(client, 'the ferry')).length]).toEqual([['oda'], 1]);
    await add(client, { ...oda, text: 'Harl feeds the goat.', keys: [] });
    expect([await ask('Who feeds the goat?'), await find(client, 'a billy')]).toEqual(['Harl feeds the goat.', []]);
    expect(await client.request('removeKnowledge', { storage: 'facts', ids: ['oda'] })).toMatchObject({ body: 'ack' });
    expect(await ask('Who feeds the goat?')).toBe('');
  });

  it('brings what is added to searches by vectors, a Route by examples included', async () => {
    await using client = await open();
    await add(client, entry('open the door', { id: 'door', metadataJson: '{"intent": "door"}' }));
    const vectors = { match: 'vectors', embedding_model: embeddingModel };
    const found = await client.createAgent(lookUp({ ...vectors, top_k: 1 }));
    const sorted = await client.createAgent({
      start_node: 'sort',
      nodes: {
        sort: {
          type: 'Route',
          params: { ...vectors, string_storage: 'facts', label_field: 'intent' },
          exits: { door: 'say', otherwise: 'say', no_match: 'say' },
        },
        say: line('{{route.label}}'),
      },
    });
    const ask = (text: string) =>
      Promise.all([found, sorted].map(async (agentId) => (await client.sendMessage(agentId, text)).text));
    expect(await ask('please play a song')).toEqual(['open the door', expect.any(String) as string]);
    await add(client, entry('play a song', { id: 'song', metadataJson: '{"intent": "music"}' }));
    expect(await ask('please play a song')).toEqual(['play a song', 'music']);
    await client.request('removeKnowledge', { storage: 'facts', ids: ['door'] });
    expect((await ask('open the door'))[0]).toBe('play a song');
  });

  it('is exported in parts, which a creation and an addition take', async () => {
    await using client = await open();
    const first = entry('Oda feeds the goat.', { id: 'oda', metadataJson: '{"act":2}', keys: ['billy'], always: true });
    await add(client, first);
    for (let index = 0; index < 3; index++)
      await add(client, entry(`${index} ${'é'.repeat(12_000)}`), entry(`${index} ${'x'.repeat(30_000)}`));
    const parts = await exported(client);
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.map(({ part, of }) => `${part} of ${of}`)).toEqual(
      parts.map((_, at) => `${at + 1} of ${parts.length}`),
    );
    const entries = parts.flatMap((part) => part.entries);
    expect([entries.length, entries[0]]).toEqual([7, first]);
    const created = await client.request('createStringStorage', { name: 'copy', kind: 'KNOWLEDGE', entries });
    expect(created).toMatchObject({ createStringStorage: { entries: 7 } });
    await client.request('removeKnowledge', { storage: 'facts', ids: entries.map(({ id }) => id) });
    expect(await exported(client)).toEqual([{ part: 1, of: 1, entries: [] }]);
    await add(client, ...entries);
    expect((await exported(client, 'copy')).flatMap((part) => part.entries)).toEqual(entries);
    expect((await exported(client)).flatMap((part) => part.entries)).toEqual(entries);
  });

  it('is a copy of a file, with its fields, from the first addition on', async () => {
    await using client = await open();
    for (const name of ['mine', 'yours'])
      await client.request('createStringStorage', { name, kind: 'KNOWLEDGE', filePath: 'tales.kb.json' });
    const entries = [entry('The goat is gone.', { id: 'goat', metadataJson: '{"act": 2}' })];
    const refused = [entry('The eel.', { metadataJson: '{"act": "x"}' })];
    expect(errorOf(await client.request('addKnowledge', { storage: 'mine', entries: refused })).message).toBe(
      'addKnowledge.entries[0].metadata.act must be an integer',
    );
    await client.request('addKnowledge', { storage: 'mine', entries });
    const query = 'the mill and the goat';
    expect([await find(client, query, 'mine'), await find(client, query, 'yours')]).toEqual([
      expect.arrayContaining(['goat', 'mill']) as string[],
      ['mill'],
    ]);
    expect(await exported(client, 'mine')).toMatchObject([
      { entries: [{ id: 'mill' }, { id: 'goat', metadataJson: '{"kind":"rumour","act":2}' }] },
    ]);
    expect(await exported(client, 'tales.kb.json')).toMatchObject([{ entries: [{ id: 'mill' }] }]);
  });

  it.each<[string, readonly StorageEntry[], string, string]>([
    [
      'an empty text',
      [entry('good'), entry(' ')],
      'INVALID_STRING_STORAGE_DATA',
      'entries[1].text must be a string that is not empty',
    ],
    [
      'an id twice',
      [entry('a', { id: 'x' }), entry('b', { id: 'x' })],
      'INVALID_STRING_STORAGE_DATA',
      'entries[1].id is "x"',
    ],
    [
      'broken metadata',
      [entry('a', { metadataJson: '{' })],
      'INVALID_STRING_STORAGE_DATA',
      'entries[0].metadata is not valid',
    ],
    [
      'a name of the metadata twice',
      [entry('a', { metadataJson: '{"x": 1, "x": 2}' })],
      'INVALID_STRING_STORAGE_DATA',
      'entries[0].metadata has the name "x" twice in one object at 1:10',
    ],
    [
      'no object as metadata',
      [entry('a', { metadataJson: 'null' })],
      'INVALID_STRING_STORAGE_DATA',
      'entries[0].metadata must be an object, not null',
    ],
    [
      'deep metadata',
      [entry('a', { metadataJson: '{"a": {}}' })],
      'INVALID_STRING_STORAGE_DATA',
      'entries[0].metadata.a must be',
    ],
    ['a bad pattern', [entry('a', { keys: ['/(/'] })], 'INVALID_STRING_STORAGE_DATA', 'entries[0].keys[0]'],
    ['a large entry', [entry('x'.repeat(60_000))], 'LIMIT_EXCEEDED', 'entries[0] has 6'],
    [
      'many entries',
      Array.from({ length: 201 }, () => entry('a')),
      'LIMIT_EXCEEDED',
      '202 entries, and 200 are allowed',
    ],
  ])('takes nothing of an addition with %s', async (_, entries, name, message) => {
    await using client = await open();
    await add(client, entry('The goat.', { id: 'x' }));
    const before = await exported(client);
    const refused = await add(client, ...entries);
    expect(errorOf(refused)).toMatchObject({ name, message: expect.stringContaining(message) as string });
    expect(await exported(client)).toEqual(before);
  });

  it('takes no entry that could not be exported with the id and the metadata that it gets', async () => {
    await using client = await open();
    await client.request('createStringStorage', { name: 'mine', kind: 'KNOWLEDGE', filePath: 'tales.kb.json' });
    const bytes = (storage: string) => async (length: number) =>
      client.request('addKnowledge', { storage, entries: [entry('x'.repeat(length))] });
    for (const [add, most] of [
      [bytes('facts'), 57_344 - 98],
      [bytes('mine'), 57_344 - 119],
    ] as const) {
      expect(errorOf(await add(most + 1)).message).toBe(
        'addKnowledge.entries[0] has 57345 bytes with its id and all its metadata, and 57344 are allowed; divide it',
      );
      expect(await add(most)).toMatchObject({ body: 'addKnowledge' });
    }
    const [part] = await exported(client);
    await client.request('removeKnowledge', { storage: 'facts', ids: part?.entries.map(({ id }) => id) ?? [] });
    expect(await add(client, ...(part?.entries ?? []))).toMatchObject({ body: 'addKnowledge' });
    expect(await exported(client)).toEqual([part]);
  });

  it('counts as a creation in the memory of the session, and gives back what is removed', async () => {
    await using client = await open();
    const addAll = (name: string) =>
      add(client, ...Array.from({ length: 12 }, (_, id) => entry('x'.repeat(50_000), { id: `${name}${id}` })));
    for (const name of ['a', 'b', 'c', 'a', 'b']) await addAll(name);
    expect(errorOf(await addAll('d')).message).toContain('bytes, and 2000000 are allowed');
    const ids = Array.from({ length: 12 }, (_, id) => `b${id}`);
    expect(await client.request('removeKnowledge', { storage: 'facts', ids })).toMatchObject({ body: 'ack' });
    expect(await addAll('d')).toMatchObject({ body: 'addKnowledge' });
  });

  it('names what cannot be changed, and how it can', async () => {
    await using client = await open();
    await client.request('createStringStorage', { name: 'lines', strings: ['a'] });
    await add(client, entry('The goat.', { id: 'goat' }));
    const addTo = async (storage: string) =>
      errorOf(await client.request('addKnowledge', { storage, entries: [entry('a')] }));
    expect(await addTo('fact')).toMatchObject({
      code: 7001,
      message: expect.stringContaining('did you mean "facts"') as string,
    });
    for (const storage of ['', 'other'])
      expect(await addTo(storage)).toMatchObject({
        code: 7001,
        message: `there is no storage "${storage}"; create it first`,
      });
    expect(await addTo('lines')).toMatchObject({ code: 3011, message: expect.stringContaining('is a LIST') as string });
    expect(await addTo('tales.kb.json')).toMatchObject({
      code: 7001,
      message: expect.stringContaining('filePath') as string,
    });
    const removed = await client.request('removeKnowledge', { storage: 'facts', ids: ['goat', 'goats'] });
    expect(errorOf(removed)).toMatchObject({
      code: 7003,
      message: 'removeKnowledge.ids[1]: no entry of "facts" has the id "goats"; did you mean "goat"?',
    });
    expect(await find(client, 'goat')).toEqual(['goat']);
    expect(errorOf(await client.request('exportStorage', { storage: 'lines' })).code).toBe(3011);
    expect(errorOf(await client.request('exportStorage', { storage: 'nothing' })).code).toBe(3010);
    expect(errorOf(await client.request('exportStorage', { storage: 'lore.kb.json' })).message).toContain(
      'of a lorebook',
    );
  });

  it('has methods of the TypeScript client', async () => {
    const codec = subprotocol === 'turngraph.v1.json' ? 'json' : 'proto';
    await using client = await connect(server().url, { codec });
    await client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE' });
    const goat = { id: 'goat', text: 'The goat.', metadata: { act: 2, who: ['Oda'] }, keys: ['billy'], always: false };
    const { ids, warnings } = await client.addKnowledge('facts', [goat, { text: 'x'.repeat(9000), always: true }]);
    expect([ids.length, warnings]).toEqual([2, [expect.stringContaining('always')]]);
    await client.removeKnowledge('facts', ids.slice(1));
    expect(await client.exportStorage('facts')).toEqual([goat]);
    await expect(client.addKnowledge('facts', [{ text: '' }])).rejects.toMatchObject({
      name: 'INVALID_STRING_STORAGE_DATA',
      message: expect.stringContaining('addKnowledge.entries[0].text') as string,
    });
  });
});

it('takes metadata as a value in a JSON frame', async () => {
  await using client = await TestClient.connect(server().url, 'turngraph.v1.json');
  const entries = [{ text: 'The goat.', metadata: { act: 2 } }];
  client.socket.send(
    JSON.stringify({ requestId: 98, createStringStorage: { name: 'facts', kind: 'KNOWLEDGE', entries } }),
  );
  await client.finalResponse(98);
  client.socket.send(JSON.stringify({ requestId: 99, addKnowledge: { storage: 'facts', entries } }));
  await client.finalResponse(99);
  const found = await client.request('searchStorage', {
    name: 'facts',
    query: 'goat',
    filterJson: '{"act": 2}',
    topK: 9,
  });
  expect(found).toMatchObject({ searchStorage: { hitsJson: expect.stringMatching(/goat.*goat/) as string } });
});
