import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { parseCatalogue } from '../../src/inference/models/catalogue/catalogue.ts';
import { Downloads } from '../../src/inference/download/downloads.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import type { ServerFrameBodies, SuggestModelsRequest } from '../../src/protocol/frames.gen.ts';
import type { ServerMachine } from '../../src/server/session/session.ts';
import { errorOf, subprotocols, TestClient, type TestServerOptions, useServer } from '../helpers/server.ts';

const gigabyte = 1e9;
/** A laptop without a graphics card. */
const laptop: ServerMachine = {
  totalRam: 16 * gigabyte,
  freeRam: 8 * gigabyte,
  card: undefined,
  problem: undefined,
  cores: 4,
  bandwidth: 20 * gigabyte,
  slots: 1,
};

const hub = (file: string, sizeBytes: number | undefined) => ({
  engine: 'llama-cpp',
  huggingface_repo: 'ann/x',
  files: [file],
  size_bytes: sizeBytes,
  context_size: 1024,
  kv_bytes_per_token: 1000,
});
const models = [
  { name: 'small', languages: 'en de', variants: [hub('deep/small.gguf', gigabyte)] },
  { name: 'medium', languages: 'en', variants: [hub('medium.gguf', 3 * gigabyte)] },
  { name: 'other', variants: [hub('other.gguf', 2 * gigabyte)] },
  { name: 'huge', variants: [hub('huge.gguf', 90 * gigabyte)] },
  { name: 'mystery', variants: [hub('mystery.gguf', undefined)] },
  { name: 'gone', variants: [{ engine: 'llama-cpp', local_path: 'secret', files: ['gone.gguf'] }] },
  { name: 'served', variants: [{ engine: 'http', api: 'llama-server', base_url: 'http://gpu.example:8080' }] },
  { name: 'finder', purpose: 'embedding', variants: [hub('finder.gguf', gigabyte / 10)] },
];
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ extends: false, models }));
});
afterAll(() => rm(folder, { recursive: true }));
let freeDisk = 50e9;
afterEach(() => void (freeDisk = 50e9));
const downloads = { freeBytes: async () => freeDisk };
const options: TestServerOptions = {
  readMachine: async () => laptop,
  downloads,
  get catalogue() {
    return join(folder, 'models.json');
  },
  get models() {
    return join(folder, 'downloads');
  },
};

describe.each(subprotocols)('a client that asks which models fit, over %s', (subprotocol) => {
  const server = useServer(options);
  type Suggested = ServerFrameBodies['suggestModels'];
  async function suggest(wish: Partial<SuggestModelsRequest> = {}): Promise<Suggested> {
    await using client = await TestClient.connect(server().url, subprotocol);
    const answer = await client.request('suggestModels', wish);
    if (answer.body !== 'suggestModels') throw new Error(JSON.stringify(answer));
    return answer.suggestModels;
  }
  const namesOf = ({ models: fitting }: Suggested): readonly string[] => fitting.map(({ name }) => name);
  const whyNot = ({ leftOut }: Suggested): object => Object.fromEntries(leftOut.map(({ name, why }) => [name, why]));

  it('gets the machine, the models best first, and why the others do not fit', async () => {
    const answer = await suggest();
    expect(answer.machine).toEqual({
      memoryBytes: 16e9,
      freeMemoryBytes: 8e9,
      cards: [],
      cardMemoryBytes: 0,
      freeCardMemoryBytes: 0,
      cores: 4,
      bandwidthBytesPerSecond: 20e9,
      problem: '',
      freeDiskBytes: 50e9,
    });
    expect(namesOf(answer)).toEqual(['medium', 'other', 'small']);
    expect(answer.models[2]).toEqual({
      name: 'small',
      variant: 'small.gguf',
      status: 'ABSENT',
      downloadBytes: 1e9,
      memoryBytes: 1e9 + 1024 * 1000,
      tokensPerSecond: 20,
      why: 'it fits in memory',
    });
    expect(whyNot(answer)).toEqual({
      huge: 'it needs about 90.0 GB, and 8.0 GB of memory are free',
      mystery: 'its size is unknown; add size_bytes to its entry',
      gone: 'it is not on disk, and its entry names no place to download it from',
      served: 'other machines serve it',
    });
    expect(answer.more).toBe(0);
    expect(JSON.stringify(answer)).not.toContain(folder);
  });

  it('gets no model that is too large, too slow, or without the language', async () => {
    const answer = await suggest({ maxBytes: 2.5e9, minTokensPerSecond: 15, languages: ['de'] });
    expect(namesOf(answer)).toEqual(['small']);
    expect(whyNot(answer)).toMatchObject({
      medium: 'its files have 3.0 GB, and at most 2.5 GB are wished for',
      other: 'about 10 tokens per second are expected, and at least 15 are wished for',
    });
    const german = await suggest({ languages: ['de'] });
    expect(namesOf(german)).toEqual(['small', 'other']);
    expect(german.models[1]?.why).toBe('it fits in memory; its entry does not name its languages');
    expect(whyNot(german)).toMatchObject({ medium: 'its languages are en, without de' });
    expect(namesOf(await suggest({ languages: ['deu', 'eng'] }))).toEqual(['small', 'other']);
  });

  it('gets no model for which the disk has no room', async () => {
    freeDisk = 1.5e9;
    const answer = await suggest();
    expect(namesOf(answer)).toEqual(['small']);
    expect(whyNot(answer)).toMatchObject({ medium: 'its download has 3.0 GB, and 1.5 GB of the disk are free' });
    expect(answer.machine?.freeDiskBytes).toBe(1.5e9);
  });

  it('gets an empty list, and why, if nothing fits', async () => {
    const { models: fitting, leftOut } = await suggest({ maxBytes: 1 });
    expect([fitting, leftOut.length]).toEqual([[], 7]);
  });

  it('can ask for embedding models', async () => {
    expect(await suggest({ purpose: 'embedding' })).toMatchObject({ models: [{ name: 'finder' }], leftOut: [] });
  });

  it.each<readonly [Partial<SuggestModelsRequest>, string]>([
    [{ purpose: 'chatt' }, 'suggestModels.purpose must be one of chat, embedding, not "chatt"; did you mean "chat"?'],
    [{ maxBytes: -1 }, 'suggestModels.maxBytes must be a number from 0 on, not -1; 0 = no limit'],
    [{ minTokensPerSecond: -0.5 }, 'suggestModels.minTokensPerSecond must be a number from 0 on, not -0.5'],
    [
      { languages: ['en', 'xx'] },
      'suggestModels.languages[1] must be the code of a language (ISO 639) such as "en", not "xx"',
    ],
    [{ languages: ['German'] }, 'suggestModels.languages[0] must be the code of a language'],
    [{ languages: Array<string>(101).fill('en') }, 'suggestModels.languages has 101 codes, and 100 are allowed'],
    [{ purpose: 'embedding', minTokensPerSecond: 1 }, 'suggestModels.minTokensPerSecond is for chat models'],
  ])('is told what is wrong with %o', async (wish, message) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    expect(errorOf(await client.request('suggestModels', wish)).message).toContain(message);
  });
});

describe('a server that cannot tell whether there is a graphics card', () => {
  const server = useServer({ readMachine: async () => ({ ...laptop, problem: '/opt/driver.so is too old' }) });

  it('says so without the reason, which may name a file', async () => {
    await using client = await connect(server().url);
    expect((await client.suggestModels()).machine).toMatchObject({
      problem: 'whether there is a graphics card is unknown; the log of the server says why',
    });
  });
});

describe('a server with many models', () => {
  const names = Array.from({ length: 400 }, (_, index) => `${index}: ${'long name '.repeat(18)}`);
  const many = names.map((name, index) => ({ name, variants: [hub('x.gguf', index % 2 ? gigabyte : 90 * gigabyte)] }));
  const extraModels = [...parseCatalogue(JSON.stringify({ models: many }), 'models.json').models.values()];
  const server = useServer({ readMachine: async () => laptop, extraModels, downloads });

  it('sends the best that have room in a frame, and how many more there are', async () => {
    await using client = await connect(server().url);
    const answer = await client.suggestModels();
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(60 * 1024);
    expect(answer.models.length).toBeGreaterThan(50);
    expect(answer.leftOut.length).toBeGreaterThan(50);
    const chatModels = (await client.listModels()).filter(({ purpose }) => purpose === 'chat');
    expect(answer.models.length + answer.leftOut.length + answer.more).toBe(chatModels.length);
  });
});

describe('a server that is asked many times at once', () => {
  let readings = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const readHardware = async () => {
    readings++;
    await released;
    return { freeRam: 8 * gigabyte, card: undefined, problem: undefined };
  };
  const server = useServer({
    engines: { 'llama-cpp': { ...mockEngine(), readHardware } },
  });

  it('reads the machine once for all, and again for a later one', async () => {
    await using client = await connect(server().url);
    const asked = Array.from({ length: 10 }, () => client.suggestModels());
    // Its answer says that all before it have come.
    await client.listModels();
    release();
    const answers = await Promise.all(asked);
    expect(answers.map(({ machine }) => machine?.freeMemoryBytes)).toEqual(Array(10).fill(8 * gigabyte));
    expect(readings).toBe(1);
    await client.suggestModels();
    expect(readings).toBe(2);
  });
});

describe('a server that is asked by many clients at once', () => {
  const server = useServer({ readMachine: async () => laptop, downloads });

  it('looks for the files of a model at most twice', async () => {
    let release = (): void => undefined;
    const released = new Promise<number>((resolve) => (release = () => resolve(0)));
    using looked = vi.spyOn(Downloads.prototype, 'readKeptBytes').mockReturnValue(released);
    await using first = await connect(server().url);
    await using second = await connect(server().url);
    const wishes = Array.from({ length: 20 }, (_, minTokensPerSecond) => ({ minTokensPerSecond }));
    const asked = [first, second].flatMap((client) => wishes.map((wish) => client.suggestModels(wish)));
    // Their answers say that all before them have come.
    await Promise.all([first.listModels(), second.listModels()]);
    release();
    await Promise.all(asked);
    const ofOne = looked.mock.calls.filter(([{ name }]) => name.startsWith('Qwen2.5 7B'));
    expect([1, 2]).toContain(ofOne.length);
  });
});

describe('a server on this machine', () => {
  const server = useServer({ slots: 1 });

  it('measures it and suggests the bundled models, of which the demo model needs no download', async () => {
    await using client = await connect(server().url);
    const { machine, models: fitting, leftOut, more } = await client.suggestModels();
    expect(machine).toMatchObject({ cards: [], problem: '', bandwidthBytesPerSecond: expect.any(Number) as number });
    expect(machine?.freeMemoryBytes).toBeGreaterThan(0);
    expect(machine?.bandwidthBytesPerSecond).toBeGreaterThan(0);
    const demo = fitting.find(({ name }) => name === 'turngraph-demo');
    expect(demo).toMatchObject({ status: 'LOCAL', downloadBytes: 0, variant: 'turngraph-demo.gguf' });
    const chatModels = (await client.listModels()).filter(({ purpose }) => purpose === 'chat');
    expect([fitting.length + leftOut.length, more]).toEqual([chatModels.length, 0]);
    const again = await client.suggestModels();
    expect(again.machine?.bandwidthBytesPerSecond).toBe(machine?.bandwidthBytesPerSecond);
  });
});
