import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EmbedOptions, Embeddings } from '../../../../../src/inference/contract/model.ts';
import { DiskQuota } from '../../../../../src/base/diskCache.ts';
import { MockEmbeddingModel } from '../../../../../src/inference/mock/engine.ts';
import type { Model } from '../../../../../src/inference/contract/engine.ts';
import type { VectorReport } from '../../../../../src/graph/retrieval/vectors/storageVectors.ts';
import { VectorPool, type OpenVectors } from '../../../../../src/graph/retrieval/vectors/vectorPool.ts';
import { vectorStore } from '../../../../../src/graph/retrieval/vectors/vectorStore.ts';
import { createList, type StringStorage } from '../../../../../src/graph/storage/stringStorage.ts';

let folder = '';
let logged: string[] = [];
const log = pino({ level: 'info', base: null, timestamp: false }, { write: (line) => void logged.push(line) });
const warnings = (): readonly string[] => logged.filter((line) => line.includes('"level":40'));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const vectorFiles = (): readonly string[] =>
  readdirSync(join(folder, 'vectors')).map((name) => join(folder, 'vectors', name));
const vectorFile = (): string => {
  const [file = '', ...others] = vectorFiles();
  expect(others).toEqual([]);
  return file;
};

/** An embedding model that writes down what it embeds; texts are alike as far as they have the same words. */
class WatchedModel extends MockEmbeddingModel {
  override readonly embedding = { dimensions: 64, fingerprint: 'fingerprint 1' };
  readonly embedded: string[] = [];
  /** Called before each batch. */
  onBatch: (texts: readonly string[], options: EmbedOptions) => Promise<void> | void = () => undefined;

  constructor(fingerprint = 'fingerprint 1') {
    super(512, () => undefined);
    this.embedding.fingerprint = fingerprint;
  }

  override async embed(texts: readonly string[], options: EmbedOptions): Promise<Embeddings> {
    await this.onBatch(texts, options);
    options.signal.throwIfAborted();
    this.embedded.push(...texts);
    return super.embed(texts, options);
  }
}

interface PoolSettings {
  readonly maxBytes?: number;
  readonly reports?: VectorReport[];
  readonly yieldToTurns?: () => Promise<void>;
  readonly idleMs?: number;
}

const createPool = ({ maxBytes = 1e6, reports = [], idleMs = 0, yieldToTurns }: PoolSettings = {}): VectorPool =>
  new VectorPool({
    log,
    idleMs,
    store: vectorStore(folder, new DiskQuota(maxBytes), log),
    listener: { onReady: (report) => void reports.push(report) },
    ...(yieldToTurns && { yieldToTurns }),
  });
const noPrefixes = { query: '', document: '' };
const open = (pool: VectorPool, model: Model, storage: StringStorage, prefixes = noPrefixes): Promise<OpenVectors> =>
  pool.open({ storage, name: 'lore', model, modelName: 'search', prefixes });
const find = async (vectors: OpenVectors, query: string, topK = 1, signal?: AbortSignal) =>
  vectors.search({ query, topK, minSimilarity: 0, isEligible: () => true, signal });

const lore = createList(['The ferry leaves at dawn', 'The smith sharpens blades', 'The abbey has a library', '']);
const many = createList(Array.from({ length: 40 }, (_, index) => `entry ${index}`));

/** Computes the vectors of a storage in one server, which is then closed. */
async function compute(storage = lore, settings: PoolSettings = {}): Promise<WatchedModel> {
  const model = new WatchedModel();
  await using pool = createPool(settings);
  using vectors = await open(pool, model, storage);
  await vectors.computed;
  return model;
}

describe('the vectors of a storage', () => {
  it('find the text that is most like the query, and equal ones with similarity 1', async () => {
    await using pool = createPool();
    using vectors = await open(pool, new WatchedModel(), lore);
    const [first, ...others] = await find(vectors, 'The smith sharpens blades', 4);
    expect(first).toMatchObject({ index: 1, score: expect.closeTo(1, 6) as unknown });
    expect(others.map(({ index }) => index)).toContain(3);
  });

  it('have the words of the model before texts and queries', async () => {
    await using pool = createPool();
    const model = new WatchedModel();
    using vectors = await open(pool, model, createList(['a', 'b']), { query: 'query: ', document: 'passage: ' });
    await vectors.computed;
    await find(vectors, 'c');
    expect(model.embedded).toEqual(['passage: a', 'passage: b', 'query: c']);
  });

  it('are computed once for all that search the same texts with the same model', async () => {
    await using pool = createPool();
    const model = new WatchedModel();
    using first = await open(pool, model, lore);
    using second = await open(pool, model, createList(lore.list));
    await Promise.all([first.computed, second.computed]);
    expect(model.embedded).toHaveLength(lore.list.length);
  });

  it('are computed at low priority, and what is searched for comes first', async () => {
    await using pool = createPool();
    const model = new WatchedModel();
    const priorities: [string | undefined, number][] = [];
    model.onBatch = (texts, { priority }) => void priorities.push([priority, texts.length]);
    using vectors = await open(pool, model, many);
    await find(vectors, 'entry');
    expect(priorities.filter(([priority]) => priority === undefined)).toEqual([[undefined, 1]]);
    expect(priorities.filter(([priority]) => priority === 'BACKGROUND').map(([, texts]) => texts)).toEqual([
      8, 8, 8, 8, 8,
    ]);
  });

  it('give way to turns after each batch, unless a turn waits for them', async () => {
    let waits = 0;
    const yieldToTurns = async (): Promise<void> => void waits++;
    await using pool = createPool({ yieldToTurns });
    using vectors = await open(pool, new WatchedModel(), many);
    await vectors.computed;
    expect(waits).toBe(4);
    using others = await open(pool, new WatchedModel(), createList(many.list.slice(1)));
    await find(others, 'entry');
    expect(waits).toBe(4);
  });
});

describe('saved vectors', () => {
  it('are used by the next server, which evaluates nothing', async () => {
    expect((await compute()).embedded).toHaveLength(4);
    const reports: VectorReport[] = [];
    const model = new WatchedModel();
    await using pool = createPool({ reports });
    using vectors = await open(pool, model, lore);
    await vectors.computed;
    expect(model.embedded).toEqual([]);
    expect(await find(vectors, 'The smith sharpens blades')).toMatchObject([{ index: 1 }]);
    expect(reports).toEqual([
      { name: 'lore', model: 'search', texts: 4, truncated: 0, isRestored: true, unsaved: undefined },
    ]);
    expect(warnings()).toEqual([]);
  });

  it('can be read by their owner only', async () => {
    await compute();
    // Windows knows no such permissions.
    if (process.platform === 'win32') return;
    expect(statSync(vectorFile()).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'vectors')).mode & 0o777).toBe(0o700);
  });

  it.each<[string, Parameters<typeof open>[2], string, typeof noPrefixes]>([
    ['another text', createList([...lore.list.slice(0, 3), 'x']), 'fingerprint 1', noPrefixes],
    ['texts in another order', createList(lore.list.toReversed()), 'fingerprint 1', noPrefixes],
    ['texts that are divided in another way', createList(['ab', 'c', '', 'd']), 'fingerprint 1', noPrefixes],
    ['another model', lore, 'fingerprint 2', noPrefixes],
    ['another prefix', lore, 'fingerprint 1', { query: '', document: 'passage: ' }],
  ])('are not used for %s', async (what, storage, fingerprint, prefixes) => {
    await compute(what.includes('divided') ? createList(['a', 'bc', '', 'd']) : lore);
    const model = new WatchedModel(fingerprint);
    await using pool = createPool();
    using vectors = await open(pool, model, storage, prefixes);
    await vectors.computed;
    expect(model.embedded).toHaveLength(storage.list.length);
    expect(vectorFiles()).toHaveLength(2);
  });

  it.each<[string, (file: string) => void]>([
    ['cut', (file) => truncateSync(file, statSync(file).size - 4)],
    ['empty', (file) => writeFileSync(file, '')],
    ['longer', (file) => writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.alloc(4)]))],
    ['damaged', (file) => changeByte(file, statSync(file).size - 9)],
    ['of another version', (file) => changeByte(file, 6)],
    ['of other texts', (file) => changeByte(file, 20)],
    ['of another number of texts', (file) => changeByte(file, 40)],
    ['with another checksum', (file) => changeByte(file, 60)],
  ])('are thrown away when their file is %s, and computed again', async (_, change) => {
    await compute();
    const good = readFileSync(vectorFile());
    change(vectorFile());
    expect((await compute()).embedded).toHaveLength(4);
    expect(warnings().join()).toContain('a file of vectors cannot be used: they are computed again');
    expect(readFileSync(vectorFile()).equals(good)).toBe(true);
    expect((await compute()).embedded).toEqual([]);
  });

  it('are never made of what a client has sent', async () => {
    const reports: VectorReport[] = [];
    await compute({ ...lore, isOfClient: true }, { reports });
    expect(() => vectorFiles()).toThrow('ENOENT');
    expect(reports).toMatchObject([{ unsaved: expect.stringContaining('a client has sent its texts') as unknown }]);
  });

  it('are not written where there is no room for them, and a line of the log says so', async () => {
    await compute(lore, { maxBytes: 500 });
    expect(() => vectorFiles()).toThrow('ENOENT');
    expect(warnings().join()).toContain('--cache-limit has no room');
  });

  it('make room for others when the quota is full, but not while they are in memory', async () => {
    const maxBytes = 2 * (72 + 4 * 64 * 4);
    await compute(createList(['1', '2', '3', '4']), { maxBytes });
    const model = new WatchedModel();
    await using pool = createPool({ maxBytes });
    using first = await open(pool, model, lore);
    await first.computed;
    using second = await open(pool, model, createList(['5', '6', '7', '8']));
    await second.computed;
    expect(vectorFiles()).toHaveLength(2);
    expect((await compute(lore, { maxBytes })).embedded).toEqual([]);
    expect((await compute(createList(['1', '2', '3', '4']), { maxBytes })).embedded).toHaveLength(4);
  });
});

describe('the computation of vectors', () => {
  it('stops after the batch under way when nothing needs it, and goes on from there later', async () => {
    await using pool = createPool({ idleMs: 60_000 });
    const model = new WatchedModel();
    let started = (): void => undefined;
    const secondBatch = new Promise<void>((resolve) => (started = resolve));
    model.onBatch = () => {
      if (model.embedded.length === 8) started();
    };
    const vectors = await open(pool, model, many);
    await secondBatch;
    vectors[Symbol.dispose]();
    await expect(vectors.computed).rejects.toThrow();
    expect(model.embedded.length).toBeLessThanOrEqual(16);
    using again = await open(pool, model, many);
    await again.computed;
    expect(model.embedded).toEqual(many.list);
    expect(await find(again, 'entry 7')).toMatchObject([{ index: 7 }]);
    expect(logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  });

  it('goes on for others when one of them leaves, or a turn is cancelled', async () => {
    await using pool = createPool();
    const model = new WatchedModel();
    const first = await open(pool, model, many);
    using second = await open(pool, model, many);
    const abort = new AbortController();
    const search = find(second, 'entry', 1, abort.signal);
    abort.abort(new Error('cancelled'));
    await expect(search).rejects.toThrow('cancelled');
    first[Symbol.dispose]();
    await second.computed;
    expect(model.embedded.filter((text) => text !== 'entry')).toEqual(many.list);
  });

  it('fails for those who wait, and is tried again by the next search', async () => {
    await using pool = createPool();
    const model = new WatchedModel();
    model.onBatch = () => {
      if (model.embedded.length === 16) throw new Error('the engine has crashed');
    };
    using vectors = await open(pool, model, many);
    await expect(vectors.computed).rejects.toThrow('the engine has crashed');
    expect(logged.join()).toContain('could not be computed');
    model.onBatch = () => undefined;
    expect(await find(vectors, 'entry 3')).toMatchObject([{ index: 3 }]);
    expect(model.embedded.filter((text) => text !== 'entry 3' || text === many.list[3]).length).toBeGreaterThan(39);
  });

  it('is refused where the engine has no embeddings', async () => {
    await using pool = createPool();
    const model = Object.create(new WatchedModel(), { embed: { value: undefined } }) as Model;
    await expect(open(pool, model, lore)).rejects.toMatchObject({
      name: 'INVALID_PARAM_VALUE',
      message: expect.stringContaining('has no embeddings') as unknown,
    });
  });

  it('reports texts that the model reads the beginning of', async () => {
    const reports: VectorReport[] = [];
    await compute(createList(['short', 'word '.repeat(2000)]), { reports });
    expect(reports).toMatchObject([{ truncated: 1 }]);
    expect(warnings().join()).toContain('only their beginnings count');
    await compute(createList(['short', 'word '.repeat(2000)]), { reports });
    expect(reports[1]).toMatchObject({ truncated: 1, isRestored: true });
  });
});

function changeByte(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}
