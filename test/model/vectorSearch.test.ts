import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { connect, type Client } from '../../src/client/index.ts';
import type { LoadOptions } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { startTestServer, useServer } from '../helpers/server.ts';
import { watchEmbeddings } from '../helpers/watchedEmbeddings.ts';

const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
const cache = join(folder, 'cache');
const prefixes = { query_prefix: 'query: ', document_prefix: 'document: ' };
const texts = ['the dragon is old', 'the sword of the moon', 'a bed in the inn', 'the old dragon', 'moon and sword'];
const variant = { engine: 'llama-cpp', local_path: '.', files: ['bert.gguf'] };
const models = [
  { name: 'search', purpose: 'embedding', embedding: prefixes, variants: [variant] },
  { name: 'alike', purpose: 'embedding', variants: [variant] },
];
writeFileSync(join(folder, 'bert.gguf'), bertGguf({ contextLength: 64 }));
writeFileSync(join(folder, 'plain.txt'), 'a\nb\n');
writeFileSync(join(folder, 'models.json'), JSON.stringify({ models }));
const records = texts.map((text, index) => ({ id: `e${index}`, text, metadata: { even: index % 2 === 0 } }));
writeFileSync(join(folder, 'lore.kb.json'), JSON.stringify({ embedding_model: 'alike', records }));
afterAll(() => rmSync(folder, { recursive: true }));

/** What an engine has embedded. */
let embedded: string[] = [];
const settings = () => ({
  catalogue: join(folder, 'models.json'),
  storageRoot: folder,
  cache,
  engines: { 'llama-cpp': watchEmbeddings(llamaEngine(), (text) => embedded.push(text)) },
});

/** The similarities of a text to all texts, by a plain computation. */
async function similarities(query: string): Promise<readonly number[]> {
  await using engine = llamaEngine();
  const options: LoadOptions = { contextSize: 0, slots: 0, threads: 1, gpu: 'off', purpose: 'embedding' };
  await using model = await engine.load(join(folder, 'bert.gguf'), options);
  const { vectors = [] } = (await model.embed?.([query, ...texts], { signal: new AbortController().signal })) ?? {};
  const [first = new Float32Array(), ...others] = vectors;
  return others.map((vector) => vector.reduce((sum, value, index) => sum + value * (first[index] ?? 0), 0));
}

const graph = (params: object) => ({
  start_node: 'lore',
  nodes: { lore: { type: 'Retrieve', params: { string_storage: 'lore.kb.json', match: 'vectors', ...params } } },
});

/** The hits of a Retrieve node, in the order in which it found them. */
async function retrieve(client: Client, query: string, params: object) {
  await using agent = await client.createAgent({ graph: graph(params), enableDiagnostics: true });
  const { events } = await agent.send(query);
  const { payload } = events.find(({ eventType }) => eventType === 'retrieved') ?? {};
  return (payload as { readonly hits: readonly { readonly id: string; readonly score: number }[] }).hits;
}

describe('a search by vectors with an embedding model of random weights', () => {
  const server = useServer({
    get catalogue() {
      return settings().catalogue;
    },
    storageRoot: folder,
    cache,
    get engines() {
      return settings().engines;
    },
  });
  let client: Client;
  beforeAll(async () => {
    client = await connect(server().url);
  });
  afterAll(() => client.close());

  it('finds an equal text with similarity 1, and the others in the order of a plain computation', async () => {
    const expected = await similarities('the old dragon');
    const order = [...expected.keys()].toSorted((a, b) => (expected[b] ?? 0) - (expected[a] ?? 0));
    const hits = await retrieve(client, 'the old dragon', { top_k: 5 });
    expect(hits.map(({ id }) => id)).toEqual(order.map((index) => `e${index}`));
    expect(hits[0]).toMatchObject({ id: 'e3' });
    expect(Math.abs((hits[0]?.score ?? 0) - 1)).toBeLessThan(1e-4);
    for (const { id, score } of hits) expect(score).toBeCloseTo(expected[Number(id.slice(1))] ?? NaN, 4);
  });

  it('leaves out what is less similar than min_similarity', async () => {
    const expected = (await similarities('moon and sword')).toSorted((a, b) => b - a);
    const between = ((expected[1] ?? 0) + (expected[2] ?? 0)) / 2;
    const hits = await retrieve(client, 'moon and sword', { top_k: 5, min_similarity: between });
    expect(hits).toHaveLength(2);
  });

  it('applies the filter before top_k', async () => {
    const expected = await similarities('the old dragon');
    const even = [0, 2, 4].toSorted((a, b) => (expected[b] ?? 0) - (expected[a] ?? 0));
    const hits = await retrieve(client, 'the old dragon', { top_k: 2, filter: { even: true } });
    expect(hits.map(({ id }) => id)).toEqual(even.slice(0, 2).map((index) => `e${index}`));
  });

  it('adds to the place of a similarity how much of the query an entry has, for both', async () => {
    const vectors = await retrieve(client, 'moon sword', { top_k: 5 });
    const [best = 0, least = 0] = [vectors[0]?.score, vectors.at(-1)?.score];
    const places = new Map(vectors.map(({ id, score }) => [id, (score - least) / (best - least)]));
    const words = (await retrieve(client, 'moon sword', { top_k: 5, match: 'words' })).map(({ id }) => id);
    const hits = await retrieve(client, 'moon sword', { top_k: 5, match: 'both' });
    const added = hits.map(({ id, score }) => [id, score - (places.get(id) ?? NaN)] as const);
    expect(added.filter(([, share]) => share > 1e-6).map(([id]) => id)).toEqual(expect.arrayContaining(words));
    expect(added.filter(([, share]) => share > 1e-6)).toHaveLength(words.length);
    expect(Math.max(...added.map(([, share]) => share))).toBeLessThan(1 + 1e-6);
    expect(hits).toHaveLength(5);
  });

  it('writes the words of the model before the query and the texts', async () => {
    embedded = [];
    await retrieve(client, 'sword', { embedding_model: 'search' });
    expect(embedded.toSorted()).toEqual(['query: sword', ...texts.map((text) => `document: ${text}`)].toSorted());
  });

  it('is available without a graph, and refused without an embedding model', async () => {
    const found = await client.searchStorage({
      name: 'lore.kb.json',
      query: 'the old dragon',
      match: 'vectors',
      topK: 1,
    });
    expect(found).toMatchObject({ found: true, hits: [{ id: 'e3' }] });
    await expect(client.searchStorage({ name: 'plain.txt', query: 'a', match: 'vectors' })).rejects.toMatchObject({
      name: 'INVALID_PARAM_VALUE',
    });
  });

  it.each([
    [{ embedding_model: 'turngraph-demo' }, 'which computes no vectors; name an embedding model such as "search"'],
    [{ embedding_model: 'serch' }, 'did you mean "search"?'],
    [{ string_storage: undefined, inline_strings: ['a'] }, 'neither the node nor its storage names an embedding_model'],
  ])('is refused with %o, with the place', async (params, message) => {
    await expect(client.createAgent({ graph: graph(params) })).rejects.toMatchObject({
      message: expect.stringContaining(message) as unknown,
    });
  });
});

describe('the vectors of a storage file', () => {
  /** What a server embeds until a search is answered. */
  async function search(): Promise<readonly string[]> {
    embedded = [];
    await using server = await startTestServer(settings());
    await using client = await connect(server.url);
    const hits = await retrieve(client, 'the old dragon', { top_k: 1 });
    expect(hits).toMatchObject([{ id: 'e3' }]);
    return embedded.filter((text) => text !== 'the old dragon' || text === texts[3]);
  }

  it('are computed by the first server, and read by the next ones', async () => {
    rmSync(join(cache, 'vectors'), { recursive: true, force: true });
    expect((await search()).toSorted()).toEqual([...texts, 'the old dragon'].toSorted());
    expect(await search()).toEqual(['the old dragon']);
    const [file = ''] = readdirSync(join(cache, 'vectors'));
    truncateSync(join(cache, 'vectors', file), 100);
    expect(await search()).toHaveLength(6);
    expect(await search()).toEqual(['the old dragon']);
  });
});
