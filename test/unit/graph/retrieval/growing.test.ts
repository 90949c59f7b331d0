import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../scripts/seededRandom.mjs';
import { Gate } from '../../../helpers/gate.ts';
import { createRetriever, type SearchRequest } from '../../../../src/graph/retrieval/retriever.ts';
import { StorageVectors } from '../../../../src/graph/retrieval/vectors/storageVectors.ts';
import { VectorPool } from '../../../../src/graph/retrieval/vectors/vectorPool.ts';
import { createGrowing, GrowingStorage } from '../../../../src/graph/storage/growingStorage.ts';
import type { KnowledgeEntry } from '../../../../src/graph/storage/knowledge/knowledge.ts';
import { createKnowledge, type StringStorage } from '../../../../src/graph/storage/stringStorage.ts';
import { MockEmbeddingModel } from '../../../../src/inference/mock/engine.ts';
import type { EmbedOptions } from '../../../../src/inference/contract/model.ts';

const random = createRandom(11);
const draw = (below: number): number => Math.floor(random() * below);
const words = 'harbour ferry running runner run smith blades sharpen abbey library books gold golden eel mayor'.split(
  ' ',
);
const phrase = (length: number): string => Array.from({ length }, () => words[draw(words.length)]).join(' ');

const entryOf = (id: string, text: string, rest: Partial<KnowledgeEntry> = {}): KnowledgeEntry => ({
  id,
  text,
  metadata: {},
  keys: [],
  always: false,
  ...rest,
});
const drawEntry = (id: number): KnowledgeEntry =>
  entryOf(`${id}`, `${phrase(6)} ${id}`, {
    keys: draw(3) === 0 ? [phrase(1), '/gold(en)? e/'] : [],
    always: draw(12) === 0,
  });

const request = (query: string, rest: Partial<SearchRequest> = {}): SearchRequest => ({
  query,
  match: 'words',
  topK: 4,
  minSimilarity: 0,
  filter: undefined,
  variables: {},
  ...rest,
});
const idsIn = async (storage: StringStorage, query: string): Promise<readonly string[]> =>
  (await createRetriever(storage).search(request(query))).hits.map(({ id }) => id);
const change = (storage: GrowingStorage, added: readonly KnowledgeEntry[], removed: readonly string[] = []) =>
  storage.change(
    () => ({ added, removed }),
    () => undefined,
  );

describe('a storage that grows', () => {
  it('is searched as one that has had its entries from the start', async () => {
    for (let round = 0; round < 2; round++) {
      const storage = createGrowing(Array.from({ length: 20 }, (_, id) => drawEntry(id)));
      const retriever = createRetriever(storage);
      for (let step = 0; step < 20; step++) {
        const removed = storage.keys.filter(() => draw(15) === 0);
        await change(storage, draw(3) === 0 ? [] : [drawEntry(draw(40)), drawEntry(40 + draw(9))], removed);
        const fresh = createGrowing(storage.entries);
        for (const query of [phrase(2), phrase(3), 'smitt librar', `${draw(40)}`]) {
          const found = await retriever.search(request(query));
          expect(found, query).toEqual(await createRetriever(fresh).search(request(query)));
        }
      }
    }
  });

  it('has an entry with a known id in place of the former one, after all others', async () => {
    const storage = createGrowing([entryOf('a', 'The eel.'), entryOf('b', 'The ferry.')]);
    await change(storage, [entryOf('a', 'The smith.', { keys: ['anvil'] }), entryOf('c', 'The mayor.')]);
    expect(storage.keys).toEqual(['b', 'a', 'c']);
    expect([await idsIn(storage, 'eel'), await idsIn(storage, 'smith'), await idsIn(storage, 'the anvil')]).toEqual([
      [],
      ['a'],
      ['a'],
    ]);
  });

  it('is searched as it is when a search begins', async () => {
    const storage = createGrowing([entryOf('a', 'The eel is smoked.', { keys: ['fish'] })]);
    const retriever = createRetriever(storage);
    const before = retriever.search(request('eel and fish'));
    await change(storage, [entryOf('b', 'The eel swims.', { keys: ['fish'] })], ['a']);
    const after = retriever.search(request('eel and fish'));
    expect((await before).hits.map(({ id }) => id)).toEqual(['a']);
    expect((await after).hits.map(({ id }) => id)).toEqual(['b']);
  });

  it('has only the regular expressions of the entries that it has', async () => {
    const storage = createGrowing([entryOf('a', 'The goat.')]);
    // Twenty of them are more than one storage may have.
    const pattern = (number: number): string => `/${'fish'.repeat(4000)}${number}/`;
    for (let number = 0; number < 20; number++) {
      await change(storage, [entryOf('b', 'The eel.', { keys: [pattern(number), `/bait ${number}/`] })]);
      await createRetriever(storage).prepare();
    }
    expect([await idsIn(storage, 'bait 19'), await idsIn(storage, 'bait 18')]).toEqual([['b'], []]);
  });

  it('is searched for misspelled words while a state before is being indexed', async () => {
    const storage = createGrowing(Array.from({ length: 3000 }, (_, id) => entryOf(`${id}`, `The ferry ${id}`)));
    const searches = [idsIn(storage, 'ferry')];
    const names = Array.from({ length: 8000 }, (_, number) => `w${number.toString(36).padStart(4, 'x')}`).join(' ');
    await change(storage, [entryOf('b', `${names} blacksmiths`)]);
    searches.push(idsIn(storage, 'blaksmiths'));
    await change(storage, [entryOf('c', 'The mayor.')]);
    searches.push(idsIn(storage, 'blaksmiths'));
    expect((await Promise.all(searches)).slice(1)).toEqual([['b'], ['b']]);
  });

  it('leaves a storage alone that others use, too', async () => {
    const entries = [entryOf('a', 'The eel.', { keys: ['fish'] })];
    const file = createKnowledge({ entries, fields: undefined, embeddingModel: undefined, bytes: 0 });
    const [one, other] = [new GrowingStorage(file), new GrowingStorage(file)];
    expect(await idsIn(one, 'eel')).toEqual(['a']);
    await change(one, [entryOf('b', 'The eels of the harbour.', { keys: ['fish'] })]);
    await change(other, [entryOf('c', 'The mayor.')], ['a']);
    expect([await idsIn(one, 'fish'), await idsIn(other, 'fish'), await idsIn(file, 'fish')]).toEqual([
      ['a', 'b'],
      [],
      ['a'],
    ]);
    expect(await idsIn(other, 'harbour')).toEqual([]);
    expect([one.bytes > 500, other.bytes > 400, file.list]).toEqual([true, true, ['The eel.']]);
  });

  it('says which entries with always are too long to come with every search', async () => {
    const storage = createGrowing([entryOf('a', 'x'.repeat(8000), { always: true })]);
    expect(await change(storage, [entryOf('b', 'short', { always: true })])).toEqual([]);
    const [warning = ''] = await change(storage, [entryOf('c', 'y'.repeat(400), { always: true })]);
    expect(warning).toContain('"c" come only as other entries do');
    expect(await idsIn(storage, 'nothing of this')).toEqual(['a', 'b']);
    await change(storage, [], ['a']);
    expect(await idsIn(storage, 'nothing of this')).toEqual(['b', 'c']);
    expect(storage.entries.every(({ always }) => always)).toBe(true);
  });
});

describe('the vectors of a storage that grows', () => {
  class WatchedModel extends MockEmbeddingModel {
    readonly embedded: string[] = [];
    constructor() {
      super(512, () => undefined);
    }
    override embed(texts: readonly string[], options: EmbedOptions) {
      this.embedded.push(...texts);
      return super.embed(texts, options);
    }
  }

  it('are computed for the entries that are added, and only those', async () => {
    await using pool = new VectorPool({ log: pino({ level: 'silent' }), idleMs: 60_000 });
    const model = new WatchedModel();
    const storage = createGrowing(Array.from({ length: 30 }, (_, id) => entryOf(`${id}`, `Text ${phrase(5)} ${id}`)));
    const prefixes = { query: '', document: '' };
    using vectors = await pool.open({ storage, name: 'lore', model, modelName: 'search', prefixes });
    const retriever = createRetriever(storage, vectors);
    const find = async (query: string): Promise<string | undefined> =>
      (await retriever.search(request(query, { match: 'vectors' }))).hits[0]?.id;
    await vectors.computed;
    model.embedded.length = 0;
    const before = find('The blue whale sings at night');
    await change(storage, [entryOf('new', 'The blue whale sings at night')], []);
    expect([await before, await find('The blue whale sings at night')]).toEqual([
      expect.not.stringMatching('new'),
      'new',
    ]);
    expect(model.embedded.filter((text) => text.startsWith('Text'))).toEqual([]);
    expect(model.embedded.filter((text) => text.startsWith('The blue'))).toHaveLength(3);
    await change(storage, [], ['new']);
    await find(storage.list[7] ?? '');
    expect(await find(storage.list[7] ?? '')).toBe(storage.keys[7]);
    expect(model.embedded.filter((text) => text.startsWith('Text'))).toHaveLength(2);
  });

  it('are taken over by a search that comes after a change which nothing has followed', async () => {
    await using pool = new VectorPool({ log: pino({ level: 'silent' }), idleMs: 60_000 });
    const model = new WatchedModel();
    const storage = createGrowing(Array.from({ length: 9 }, (_, id) => entryOf(`${id}`, `Text ${id}`)));
    const find = async (query: string): Promise<string | undefined> => {
      const prefixes = { query: '', document: '' };
      using vectors = await pool.open({ storage, name: 'lore', model, modelName: 'search', prefixes });
      return (await createRetriever(storage, vectors).search(request(query, { match: 'vectors' }))).hits[0]?.id;
    };
    await find('A query');
    model.embedded.length = 0;
    await change(storage, [entryOf('new', 'The blue whale')]);
    expect(await find('The blue whale')).toBe('new');
    expect(model.embedded).toEqual(['The blue whale', 'The blue whale']);
  });

  it('stay for a search under way, when another user of them leaves just after a change', async () => {
    await using pool = new VectorPool({ log: pino({ level: 'silent' }), idleMs: 60_000 });
    const gate = new Gate();
    const model = new WatchedModel();
    const embed = async (texts: readonly string[], options: EmbedOptions) => {
      await gate.closed;
      options.signal.throwIfAborted();
      return WatchedModel.prototype.embed.call(model, texts, options);
    };
    Object.assign(model, { embed });
    const storage = createGrowing(Array.from({ length: 9 }, (_, id) => entryOf(`${id}`, `Text ${id}`)));
    const source = { storage, name: 'lore', model, modelName: 'search', prefixes: { query: '', document: '' } };
    using stays = await pool.open(source);
    const leaves = await pool.open(source);
    const searching = createRetriever(storage, stays).search(request('Text 4', { match: 'vectors' }));
    await setImmediate();
    await change(storage, [entryOf('new', 'The blue whale')]);
    leaves[Symbol.dispose]();
    await setImmediate();
    gate.open();
    expect((await searching).hits[0]?.id).toBe('4');
  });

  it('are taken over from those before, if others were replaced before they had any', async () => {
    const model = new WatchedModel();
    const vectorsOf = (texts: readonly string[], former?: StorageVectors): StorageVectors =>
      new StorageVectors({
        id: texts.join(),
        texts,
        prefix: '',
        name: 'lore',
        model: 'search',
        dimensions: model.embedding.dimensions,
        store: 'none',
        log: pino({ level: 'silent' }),
        yieldToTurns: async () => undefined,
        onProgress: () => undefined,
        former,
      });
    const first = vectorsOf(['a', 'b']);
    await first.open(model);
    const second = vectorsOf(['a', 'b', 'c'], first);
    const stopped = second.open(model);
    const third = vectorsOf(['a', 'b', 'c', 'd'], second);
    second.close(model);
    await expect(stopped).rejects.toThrow('nothing needs the vectors any more');
    await third.open(model);
    expect(model.embedded).toEqual(['a', 'b', 'c', 'd']);
  });
});
