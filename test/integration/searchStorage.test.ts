import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { ClientFrameBodies, ServerFrame } from '../../src/protocol/frames.gen.ts';
import { errorOf, repositoryPath, startTestServer, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const server = useServer({ storageRoot: repositoryPath('graphs'), maxMessageBytes: 2000 });
const lore = 'lore/pellmoor.kb.json';

interface Found {
  readonly ids: readonly string[];
  readonly found: boolean;
}

function foundIn(frame: ServerFrame): Found {
  if (frame.body !== 'searchStorage') throw new Error(JSON.stringify(frame));
  const hits = JSON.parse(frame.searchStorage.hitsJson) as readonly { readonly id: string }[];
  return { ids: hits.map(({ id }) => id), found: frame.searchStorage.found };
}

describe.each(subprotocols)('a search without a graph, over %s', (subprotocol) => {
  const open = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const search = (client: TestClient, fields: Partial<ClientFrameBodies['searchStorage']>): Promise<ServerFrame> =>
    client.request('searchStorage', { name: lore, ...fields });

  it('finds the best three entries of a file by words, and those that every search brings', async () => {
    await using client = await open();
    const { ids, found } = foundIn(await search(client, { query: 'What beers do the monks of the abbey brew?' }));
    expect([ids[0], ids.length, ids.at(-1), found]).toEqual(['honey', 4, 'pellmoor', true]);
    expect(foundIn(await search(client, { query: 'the ferry', topK: 1 })).ids).toEqual(['ferry', 'pellmoor']);
    expect(foundIn(await search(client, { query: 'reset my password' }))).toEqual({ ids: ['pellmoor'], found: false });
  });

  it('finds entries of a storage that the session has created, until it destroys it', async () => {
    await using client = await open();
    await client.request('createStringStorage', {
      name: 'rumours',
      kind: 'KNOWLEDGE',
      keys: ['bridge', 'mill'],
      strings: ['The bridge is down.', 'The mill is haunted.'],
      metadataJson: ['', '{"metadata": {"act": 2}, "keys": ["ghost"]}'],
    });
    expect(await search(client, { name: 'rumours', query: 'any ghosts around?' })).toMatchObject({
      searchStorage: {
        part: 1,
        of: 1,
        hitsJson: '[{"id":"mill","text":"The mill is haunted.","score":0,"metadata":{"act":2}}]',
        found: true,
      },
    });
    const filterJson = '{"act": {"$lt": 2}}';
    const filtered = await search(client, { name: 'rumours', query: 'the mill, the bridge', filterJson });
    expect(foundIn(filtered)).toEqual({ ids: [], found: false });
    await client.request('destroyStringStorage', { name: 'rumours' });
    expect(errorOf(await search(client, { name: 'rumours', query: 'x' })).name).toBe('STORAGE_FILE_NOT_FOUND');
  });

  it('sends many hits in parts', async () => {
    await using client = await open();
    const strings = Array.from({ length: 200 }, (_, index) => `goose ${'é'.repeat(500)} ${index}`);
    await client.request('createStringStorage', { name: 'geese', kind: 'LIST', strings });
    const query = Array.from({ length: 100 }, (_, index) => index).join(' ');
    const requestId = client.send('searchStorage', { name: 'geese', query, topK: 1000 });
    await client.waitFor(
      (frame) => frame.body === 'searchStorage' && frame.searchStorage.part === frame.searchStorage.of,
    );
    const parts = client.received.flatMap((frame) =>
      frame.requestId === requestId && frame.body === 'searchStorage' ? [frame.searchStorage] : [],
    );
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map(({ part }) => part)).toEqual(parts.map((_, index) => index + 1));
    expect(parts.every(({ of, found }) => of === parts.length && found)).toBe(true);
    const hits = JSON.parse(parts.map(({ hitsJson }) => hitsJson).join('')) as readonly { readonly text: string }[];
    expect(hits.map(({ text }) => text).toSorted()).toEqual(strings.slice(0, 100).toSorted());
  });

  it.each<[Partial<ClientFrameBodies['searchStorage']>, string, RegExp]>([
    [{ name: '' }, 'STORAGE_FILE_NOT_FOUND', /"" is neither a storage .*; create it first$/],
    [{ name: 'lore/none.kb.json' }, 'STORAGE_FILE_NOT_FOUND', /"lore\/none.kb.json" is neither a storage/],
    [{ match: 'word' }, 'INVALID_PARAM_VALUE', /searchStorage\.match must be one of .*; did you mean "words"\?/],
    [{ match: 'vectors' }, 'INVALID_PARAM_VALUE', /match "vectors" needs an embedding model/],
    [{ match: 'both' }, 'INVALID_PARAM_VALUE', /match "both" needs an embedding model/],
    [{ topK: 1001 }, 'INVALID_PARAM_VALUE', /searchStorage\.topK must be an integer of 1 to 1000/],
    [{ filterJson: '{' }, 'INVALID_PARAM_VALUE', /searchStorage\.filter is not valid JSON at 1:2/],
    [
      { filterJson: '{"$or": [{"min_level": {"$lte": "x"}}]}' },
      'INVALID_PARAM_VALUE',
      /searchStorage\.filter\.\$or\[0\]\.min_level\.\$lte must be a number/,
    ],
    [
      { filterJson: '{"min_level": {"$lte": {"$variable": "level"}}}' },
      'INVALID_PARAM_VALUE',
      /searchStorage\.filter has \{"\$variable": "level"\}/,
    ],
    [{ filterJson: '{"kind": "law", "kind": "place"}' }, 'INVALID_PARAM_VALUE', /\.kind is there twice/],
    [{ query: 'x'.repeat(2001) }, 'LIMIT_EXCEEDED', /searchStorage\.query has 2001 bytes/],
  ])('refuses %j', async (fields, code, message) => {
    await using client = await open();
    const { name, message: sentence } = errorOf(await search(client, { query: 'the ferry', ...fields }));
    expect(name).toBe(code);
    expect(sentence).toMatch(message);
    expect(foundIn(await search(client, { query: 'the ferry' })).ids[0]).toBe('ferry');
  });

  it('is a method of the TypeScript client', async () => {
    const codec = subprotocol === 'turngraph.v1.json' ? 'json' : 'proto';
    await using client = await connect(server().url, { codec });
    const { hits, found } = await client.searchStorage({
      name: lore,
      query: 'What do the laws say of the markets?',
      topK: 1,
      filter: { kind: 'law', secret: { $ne: true } },
    });
    expect([hits.map(({ id, metadata }) => [id, metadata['kind']]), found]).toEqual([[['market', 'law']], true]);
    await expect(client.searchStorage({ name: lore, query: 'x', filter: { kind: { $gt: 1 } } })).rejects.toMatchObject({
      name: 'INVALID_PARAM_VALUE',
    });
  });
});

it('takes the filter as a value in a JSON frame', async () => {
  await using client = await TestClient.connect(server().url, 'turngraph.v1.json');
  client.socket.send(
    JSON.stringify({
      requestId: 99,
      searchStorage: { name: lore, query: 'the ferry', filter: { kind: { $in: ['person'] } } },
    }),
  );
  const { ids } = foundIn(await client.finalResponse(99));
  expect(ids[0]).toBe('ferry');
  expect(ids).not.toContain('pellmoor');
});

it('refuses hits whose metadata are too large to be sent', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  try {
    const note = 'x'.repeat(900_000);
    const entries = Array.from({ length: 10 }, (_, index) => ({
      id: `${index}`,
      text: 'x',
      keys: ['mill'],
      metadata: { note },
    }));
    await writeFile(join(folder, 'mills.kb.json'), JSON.stringify(entries));
    await using large = await startTestServer({ storageRoot: folder });
    await using client = await TestClient.connect(large.url, 'turngraph.v1.json');
    const search = (topK: number): Promise<ServerFrame> =>
      client.request('searchStorage', { name: 'mills.kb.json', query: 'mill', topK });
    expect(await search(1)).toMatchObject({ searchStorage: { part: 1, found: true } });
    expect(errorOf(await search(10))).toMatchObject({
      name: 'LIMIT_EXCEEDED',
      message: expect.stringMatching(/has more than 8388608 bytes/) as string,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
