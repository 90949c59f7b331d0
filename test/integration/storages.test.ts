import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientFrameBodies } from '../../src/protocol/frames.gen.ts';
import { GraphFolder } from '../../src/graph/compile/graphFolder.ts';
import { guarded, type GraphDocument } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, subprotocols } from '../helpers/server.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await mkdir(join(folder, 'root', 'game', 'deep'), { recursive: true });
  const write = (path: string, text: string | Uint8Array): Promise<void> => writeFile(join(folder, 'root', path), text);
  await writeFile(join(folder, 'secret.txt'), 'swordfish\n');
  await write('refusals.txt', '\ufeff# what to say\r\nNot today.\r\n\r\n  Go away.  \n');
  await write('lines.json', '{"b": "second", "a": "first"}');
  await write('many.mm.json', '[{"id": "b", "text": "3"}, {"id": "a", "text": "1"}, {"id": "a", "text": "2"}]');
  await write('listed.json', '[{"id": "b", "text": "second"}, {"id": "a", "text": "first"}]');
  await write('twice.json', '[{"id": "b", "text": "1"}, {"id": "a", "text": "2"}, {"id": "b", "text": "3"}]');
  await write('keyTwice.json', '{"a": "1",\n "a": "2"}');
  await write('unlisted.json', '[{"id": "a", "text": "1"}, {"id": 2, "text": "2"}]');
  await write('text.json', '"a"');
  await write('broken.json', '{"a": 1}');
  await write('latin.txt', new Uint8Array([0xe9, 0x0a]));
  await write(
    'lore.kb.json',
    '[{"id": "a", "text": "A"}, {"id": "b", "text": "B"}, {"id": "c", "text": "C"}, {"id": "d", "text": "D"}]',
  );
  await write('bad.kb.json', '[\n  {"id": "a", "text": 1}]');
  await write('away.kb.json', '{"records_file": "../secret.txt"}');
  await write('gone.kb.json', '{"records_file": "none.json"}');
  await write('big.kb.json', '[');
  await truncate(join(folder, 'root', 'big.kb.json'), 100 * 1024 * 1024);
  await write('picture.jpg', 'x');
  await write('game/own.txt', 'from the game\n');
  await symlink(join(folder, 'secret.txt'), join(folder, 'root', 'link.txt'));
  await symlink(folder, join(folder, 'root', 'up'));
  await symlink(join(folder, 'root', 'refusals.txt'), join(folder, 'root', 'game', 'sideways.txt'));
  await symlink('loop.txt', join(folder, 'root', 'loop.txt'));
});
afterAll(() => rm(folder, { recursive: true }));

const server = useServer({
  get storageRoot() {
    return join(folder, 'root');
  },
  maxPatterns: 3,
  maxKnowledgeEntries: 4,
  maxKnowledgeBytes: 4000,
});

/** Sends the lines of a storage in turn. */
const lineGraph = (string_storage: string, inline_strings: readonly string[] = []): GraphDocument => ({
  start_node: 'say',
  nodes: { say: { type: 'CannedResponse', params: { string_storage, inline_strings, selection_strategy: 'in_turn' } } },
});

describe.each(subprotocols)('over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const createStorage = (client: TestClient, fields: Partial<ClientFrameBodies['createStringStorage']>) =>
    client.request('createStringStorage', fields);

  async function collectTexts(client: TestClient, agentId: number, times: number): Promise<string[]> {
    const texts: string[] = [];
    while (texts.length < times) texts.push((await client.sendMessage(agentId, 'hello')).text);
    return texts;
  }

  it.each<[string, Partial<ClientFrameBodies['createStringStorage']>, string[]]>([
    ['a list in its order', { kind: 'LIST', strings: ['b', 'a'] }, ['b', 'a', 'b']],
    [
      'a map by its keys',
      { kind: 'MAP', strings: ['second', 'first'], keys: ['b', 'a'] },
      ['first', 'second', 'first'],
    ],
    [
      'a multimap by its keys, stable within one',
      { kind: 'MULTIMAP', strings: ['3', '1', '2'], keys: ['b', 'a', 'a'] },
      ['1', '2', '3'],
    ],
    [
      'a text file without its comments',
      { kind: 'LIST', filePath: 'refusals.txt' },
      ['Not today.', 'Go away.', 'Not today.'],
    ],
    ['a map file', { kind: 'MAP', filePath: 'lines.json' }, ['first', 'second', 'first']],
    ['a map file with a list of entries', { kind: 'MAP', filePath: 'listed.json' }, ['first', 'second', 'first']],
    ['a multimap file', { kind: 'MULTIMAP', filePath: 'many.mm.json' }, ['1', '2', '3']],
  ])('a node reads %s', async (_, fields, texts) => {
    await using client = await connect();
    expect(await createStorage(client, { name: 'lines', ...fields })).toMatchObject({
      createStringStorage: { entries: new Set(texts).size },
    });
    expect(await collectTexts(client, await client.createAgent(lineGraph('lines')), 3)).toEqual(texts);
  });

  it('a node reads a file by its path, without a storage of that name', async () => {
    await using client = await connect();
    expect(await collectTexts(client, await client.createAgent(lineGraph('refusals.txt')), 2)).toEqual([
      'Not today.',
      'Go away.',
    ]);
  });

  it('a guardrail reads its patterns from a storage, and reports an invalid entry', async () => {
    await using client = await connect();
    await createStorage(client, { name: 'attacks', kind: 'LIST', strings: ['swordfish'] });
    await createStorage(client, { name: 'bad', kind: 'LIST', strings: ['fine', '(?=x)'] });
    const withStorage = (string_storage: string): GraphDocument => {
      const graph = guarded([]);
      return {
        ...graph,
        nodes: { ...graph.nodes, guard: { ...graph.nodes['guard'], type: 'Guardrail', params: { string_storage } } },
      };
    };
    expect(await client.sendMessage(await client.createAgent(withStorage('attacks')), 'SWORDFISH!')).toMatchObject({
      text: "I can't help with that.",
    });
    expect(
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(withStorage('bad')) })),
    ).toMatchObject({
      code: 3003,
      message: expect.stringContaining(
        'guard.params.string_storage entry 1 is not a supported pattern (RE2 syntax, no lookaround or backreferences): "(?=x)"',
      ) as unknown,
    });
  });

  it('a destroyed storage stays usable for its agents, and its name is free again', async () => {
    await using client = await connect();
    await createStorage(client, { name: 'lines', kind: 'LIST', strings: ['old'] });
    const agentId = await client.createAgent(lineGraph('lines'));
    expect(await client.request('destroyStringStorage', { name: 'lines' })).toMatchObject({ body: 'ack' });
    await createStorage(client, { name: 'lines', kind: 'LIST', strings: ['new'] });
    expect(await collectTexts(client, agentId, 1)).toEqual(['old']);
    expect(await collectTexts(client, await client.createAgent(lineGraph('lines')), 1)).toEqual(['new']);
  });

  it('a storage is visible only to its session', async () => {
    await using client = await connect();
    await using other = await connect();
    await createStorage(client, { name: 'lines', kind: 'LIST', strings: ['mine'] });
    expect(errorOf(await other.request('createAgent', { graphJson: JSON.stringify(lineGraph('lines')) })).code).toBe(
      3010,
    );
  });

  it('a file is read once in a session', async () => {
    await using client = await connect();
    const file = join(folder, 'root', `once-${subprotocol}.txt`);
    await writeFile(file, 'before\n');
    const agentId = await client.createAgent(lineGraph(`once-${subprotocol}.txt`));
    await writeFile(file, 'after\n');
    expect(await collectTexts(client, agentId, 1)).toEqual(['before']);
    expect(await collectTexts(client, await client.createAgent(lineGraph(`once-${subprotocol}.txt`)), 1)).toEqual([
      'before',
    ]);
  });

  it('lines of the graph are used when the storage does not exist, with a warning', async () => {
    await using client = await connect();
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(lineGraph('missing', ['inline'])) });
    expect(answer).toMatchObject({ createAgent: { warnings: [expect.stringContaining('inline_strings are used')] } });
    expect(await collectTexts(client, 1, 1)).toEqual(['inline']);
  });

  it('paths are relative to the folder of the session and cannot leave it', async () => {
    await using client = await connect();
    await client.request('configureSession', { engine: 'mock', storageDataFolder: 'game' });
    expect(await collectTexts(client, await client.createAgent(lineGraph('own.txt')), 1)).toEqual(['from the game']);
    expect(errorOf(await createStorage(client, { name: 'x', kind: 'LIST', filePath: 'refusals.txt' })).code).toBe(3010);
    expect(errorOf(await createStorage(client, { name: 'x', kind: 'LIST', filePath: 'sideways.txt' })).code).toBe(3009);
  });

  const escapes = [
    '../secret.txt',
    'game/../../secret.txt',
    '/etc/passwd',
    'C:\\secret.txt',
    'c:secret.txt',
    '..\\secret.txt',
    '\\\\host\\share.txt',
    'link.txt',
    'up/secret.txt',
    'loop.txt',
    'a\0.txt',
  ];

  it.each(escapes)('a storage cannot be created from the file %j', async (filePath) => {
    await using client = await connect();
    expect(errorOf(await createStorage(client, { name: 'x', kind: 'LIST', filePath }))).toMatchObject({
      code: 3009,
      name: 'STORAGE_OUTSIDE_ROOT',
    });
  });

  it.each(escapes)('a node cannot read the file %j', async (path) => {
    await using client = await connect();
    expect(
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(lineGraph(path, ['inline'])) })).code,
    ).toBe(3009);
  });

  it.each(['/', '..', 'game/../..', 'C:\\', '\\', '/tmp'])(
    'the folder of a session cannot be %j',
    async (storageDataFolder) => {
      await using client = await connect();
      expect(errorOf(await client.request('configureSession', { engine: 'mock', storageDataFolder })).code).toBe(3009);
    },
  );

  it('nothing can be read through a session folder that links out of the root', async () => {
    await using client = await connect();
    await client.request('configureSession', { engine: 'mock', storageDataFolder: 'up' });
    expect(errorOf(await createStorage(client, { name: 'x', kind: 'LIST', filePath: 'secret.txt' })).code).toBe(3009);
  });

  it.each<[string, Partial<ClientFrameBodies['createStringStorage']>, number]>([
    ['no name', { name: '' }, 7001],
    ['a name with a slash', { name: 'a/b' }, 7001],
    ['the name of another', { name: 'taken' }, 7002],
    ['the name of a file', { name: 'refusals.txt' }, 7004],
    ['a list with keys', { keys: ['a'], strings: ['b'] }, 7003],
    ['a map without keys', { kind: 'MAP', strings: ['b'] }, 7003],
    ['a map with a key twice', { kind: 'MAP', strings: ['a', 'b'], keys: ['x', 'x'] }, 7003],
    ['strings and a file', { strings: ['a'], filePath: 'refusals.txt' }, 7003],
    ['keys and a file', { keys: ['a'], filePath: 'refusals.txt' }, 7003],
    ['a file that is not there', { filePath: 'nowhere.txt' }, 3010],
    ['a folder', { filePath: 'deep.txt/..' }, 3009],
    ['a file of another kind', { filePath: 'lines.json' }, 3011],
    ['a file of an unknown type', { filePath: 'picture.jpg' }, 3011],
    ['a map file whose values are no strings', { kind: 'MAP', filePath: 'broken.json' }, 7003],
    ['a file that is not UTF-8', { filePath: 'latin.txt' }, 7003],
    ['more entries than are allowed', { strings: ['1', '2', '3', '4'] }, 2005],
  ])('a storage cannot be created with %s', async (_, fields, code) => {
    await using client = await connect();
    await createStorage(client, { name: 'taken', kind: 'LIST', strings: ['x'] });
    expect(errorOf(await createStorage(client, { name: 'lines', kind: 'LIST', ...fields })).code).toBe(code);
  });

  it.each<[string, string, string]>([
    ['an id twice', 'twice.json', 'twice.json, 1:55: [2] has the id "b", as [0] has'],
    ['a key twice', 'keyTwice.json', 'keyTwice.json, 2:2: the key "a" is there twice'],
    ['a value that is no string', 'broken.json', 'broken.json, 1:2: the value of "a" must be a string'],
    ['an entry of another shape', 'unlisted.json', 'unlisted.json, 1:28: [1] must be {"id": string, "text": string}'],
    ['no entries', 'text.json', 'text.json must be a JSON object of strings, or a JSON array of {"id", "text"}'],
  ])('a map file with %s is refused at its place', async (_, filePath, message) => {
    await using client = await connect();
    const answer = await createStorage(client, { name: 'lines', kind: 'MAP', filePath });
    expect(errorOf(answer)).toMatchObject({ code: 7003, message: expect.stringContaining(message) as string });
  });

  it('a knowledge has an id for each text, and more for some', async () => {
    await using client = await connect();
    const metadataJson = ['{"metadata": {"level": 2}, "keys": ["x"], "always": true}', '', '{}', ''];
    const fields = {
      name: 'lore',
      kind: 'KNOWLEDGE',
      strings: ['A', 'B', 'C', 'D'],
      keys: ['a', 'b', 'c', 'd'],
    } as const;
    expect(await createStorage(client, { ...fields, metadataJson })).toMatchObject({
      createStringStorage: { entries: 4 },
    });
    expect(await createStorage(client, { name: 'file', kind: 'KNOWLEDGE', filePath: 'lore.kb.json' })).toMatchObject({
      createStringStorage: { entries: 4 },
    });
    expect(
      errorOf(await client.request('createAgent', { graphJson: JSON.stringify(lineGraph('lore')) })),
    ).toMatchObject({
      code: 3003,
      message: expect.stringContaining('names the KNOWLEDGE storage "lore", and this node takes a LIST') as string,
    });
  });

  it('a session holds so many bytes of knowledge, and a destroyed storage gives its own back', async () => {
    await using client = await connect();
    const create = (name: string) =>
      createStorage(client, { name, kind: 'KNOWLEDGE', strings: ['x'.repeat(2000)], keys: ['a'] });
    expect(await create('one')).toMatchObject({ createStringStorage: { entries: 1 } });
    expect(errorOf(await create('two')).code).toBe(2005);
    await client.request('destroyStringStorage', { name: 'one' });
    expect(await create('two')).toMatchObject({ createStringStorage: { entries: 1 } });
  });

  it.each<[string, Partial<ClientFrameBodies['createStringStorage']>, number, string]>([
    ['without ids', { strings: ['A'] }, 7003, '1 strings and 0 keys; each string needs a key, its id'],
    [
      'with too little metadata',
      { strings: ['A', 'B'], keys: ['a', 'b'], metadataJson: [''] },
      7003,
      '2 strings and 1 metadataJson',
    ],
    [
      'with an id twice',
      { strings: ['A', 'B'], keys: ['a', 'a'] },
      7003,
      'keys[1] is "a", as that of an earlier entry',
    ],
    ['with an empty text', { strings: [''], keys: ['a'] }, 7003, 'strings[0] must be a string that is not empty'],
    [
      'with broken metadata',
      { strings: ['A'], keys: ['a'], metadataJson: ['{"always": tru}'] },
      7003,
      'metadataJson[0] is not valid JSON at 1:',
    ],
    [
      'with a name of the metadata twice',
      { strings: ['A'], keys: ['a'], metadataJson: ['{"metadata": {"x": 1, "x": 2}}'] },
      7003,
      'metadataJson[0] has the name "x" twice in one object at 1:23',
    ],
    [
      'with deep metadata',
      { strings: ['A'], keys: ['a'], metadataJson: ['['.repeat(20_000) + ']'.repeat(20_000)] },
      7003,
      'metadataJson[0] is nested too deeply',
    ],
    [
      'with a wrong type',
      { strings: ['A'], keys: ['a'], metadataJson: ['{"metadata": {"b": {}}}'] },
      7003,
      'metadataJson[0].metadata.b must be',
    ],
    [
      'with too many entries',
      { strings: ['A', 'B', 'C', 'D', 'E'], keys: ['a', 'b', 'c', 'd', 'e'] },
      2005,
      '5 entries, and 4 are allowed',
    ],
    [
      'of a map',
      { kind: 'MAP', strings: ['A'], keys: ['a'], metadataJson: [''] },
      7003,
      'is a MAP and has metadataJson',
    ],
    ['of a map file', { filePath: 'lines.json' }, 3011, 'holds a MAP, not a KNOWLEDGE'],
    [
      'of a bad file',
      { filePath: 'bad.kb.json' },
      7003,
      'bad.kb.json, 2:15: [0].text must be a string that is not empty',
    ],
    [
      'of a file of 100 MB',
      { filePath: 'big.kb.json' },
      2005,
      '"big.kb.json" is too large: 67108864 bytes are allowed',
    ],
    ['whose records are outside', { filePath: 'away.kb.json' }, 3009, 'leads out of the storage folder'],
    ['whose records are missing', { filePath: 'gone.kb.json' }, 3010, 'the storage folder has no file "none.json"'],
  ])('a knowledge %s is refused', async (_, fields, code, message) => {
    await using client = await connect();
    const answer = await createStorage(client, { name: 'lore', kind: 'KNOWLEDGE', ...fields });
    expect(errorOf(answer)).toMatchObject({ code, message: expect.stringContaining(message) as string });
  });

  it('a node that names a bad knowledge file is refused with line and column', async () => {
    await using client = await connect();
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(lineGraph('bad.kb.json')) });
    expect(errorOf(answer).message).toBe(
      'say.params.string_storage cannot be used: bad.kb.json, 2:15: [0].text must be a string that is not empty',
    );
  });

  it('a knowledge file is not among the graphs of its folder', async () => {
    const names = await new GraphFolder(join(folder, 'root')).names();
    expect(names).toContain('lines');
    expect(names).not.toContain('lore.kb');
  });

  it('an unknown storage cannot be destroyed', async () => {
    await using client = await connect();
    expect(errorOf(await client.request('destroyStringStorage', { name: 'nothing' })).code).toBe(7001);
  });
});
