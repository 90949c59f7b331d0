import { chmod, copyFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Engine, LoadOptions, Model, WarmUpResult } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { generate, longText, neverAborted as signal, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { demoFile } from './demo.ts';

const load = { contextSize: 2048, slots: 1, threads: 1, gpu: 'off' } as const;
const head = `You keep a lamp. ${longText(20)}`;
const question = userPrompt('Tell me a joke.', head);

let fresh = { text: '', reused: 0, restored: 0 };
let models = '';
let cache = '';
beforeAll(async () => {
  models = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const random = { ...shapes.tiny, words: 259, weights: 'F32' } as const;
  await writeRandomModel(join(models, 'hybrid.gguf'), { ...random, layers: 3, kernel: 3 });
  await writeRandomModel(join(models, 'window.gguf'), { ...random, window: 128 });
  await copyFile(demoFile, join(models, 'demo.gguf'));
  fresh = await withModel(answer, { open: () => llamaEngine() });
});
afterAll(() => rm(models, { recursive: true }));
beforeEach(async () => void (cache = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(cache, { recursive: true }));

const inProcess = (maxStateBytes: number): Engine => llamaEngine({ folder: cache, maxStateBytes });
const inChild = (maxStateBytes: number): Engine => new ProcessEngine({ cache: { folder: cache, maxStateBytes } });

interface Run {
  readonly name?: string;
  readonly open?: (maxStateBytes: number) => Engine;
  readonly megabytes?: number;
  readonly options?: Partial<LoadOptions>;
}

/** Runs work as a server of its own does: the model is loaded for it, and unloaded after it. */
async function withModel<T>(
  work: (model: Model) => Promise<T>,
  { name = 'demo', open = inProcess, megabytes = 500, options = {} }: Run = {},
): Promise<T> {
  await using engine = open(megabytes * 1e6);
  return await work(await engine.load(join(models, `${name}.gguf`), { ...load, ...options }));
}

const warm = (run?: Run): Promise<WarmUpResult> =>
  withModel((model) => model.openSequence().prefill(userPrompt('', head), signal, { keep: true }), run);

async function answer(model: Model): Promise<typeof fresh> {
  const { text, tokens } = await generate(model.openSequence(), question, { sampling: { max_tokens: 16 } });
  return { text, reused: tokens.reused, restored: model.stats().promptsRestored };
}

const ask = (run?: Run): Promise<typeof fresh> => withModel(answer, run);

const filesOf = async (extension: string): Promise<readonly string[]> => {
  const names = await readdir(join(cache, 'prompts')).catch(() => []);
  return names.filter((name) => name.endsWith(extension)).map((name) => join(cache, 'prompts', name));
};
const onlyFile = async (extension: string): Promise<string> => {
  const [file, ...others] = await filesOf(extension);
  if (file === undefined || others.length > 0) throw new Error(`not one file ${extension}`);
  return file;
};

describe('the prompt cache', () => {
  it.each([
    ['demo', 'in process', inProcess],
    ['hybrid', 'in process', inProcess],
    ['window', 'in process', inProcess],
    ['demo', 'in an engine process', inChild],
  ] as const)('lets a later server start from the head of a prompt: %s, %s', async (name, _, open) => {
    // The demo model was asked before all tests.
    const before = name === 'demo' ? fresh : await ask({ name, open });
    expect(before.reused).toBe(0);
    expect(await filesOf('')).toEqual([]);
    expect((await warm({ name, open })).kept).toBe('saved');
    const started = await ask({ name, open });
    expect(started.text).toBe(before.text);
    expect(started.reused).toBeGreaterThan(100);
    expect([before.restored, started.restored]).toEqual([0, 1]);
    await onlyFile('.state');
  });

  it.each([
    ['demo', { kvCacheType: 'q8_0' }],
    ['hybrid', {}],
    ['window', {}],
  ] as const)('serves any number of slots: %s, %o', async (name, other) => {
    const expected = await ask({ name, options: other });
    await warm({ name, options: { ...other, slots: 4 } });
    for (const slots of [1, 6]) {
      const started = await ask({ name, options: { ...other, slots } });
      expect(started.text).toBe(expected.text);
      expect(started.reused).toBeGreaterThan(100);
    }
    expect(await readdir(join(cache, 'states'), { recursive: true })).toEqual([]);
    await onlyFile('.state');
  });

  it('is kept when the copy for another number of slots cannot be written', async () => {
    await warm({ options: { slots: 4 } });
    await rm(join(cache, 'states'), { recursive: true, force: true });
    await writeFile(join(cache, 'states'), '');
    expect(await ask()).toEqual(fresh);
    await onlyFile('.state');
  });

  it('is not saved again by a server that finds it there', async () => {
    await warm();
    const { mtimeMs } = await stat(await onlyFile('.state'));
    expect((await warm()).kept).toBe('present');
    expect((await stat(await onlyFile('.state'))).mtimeMs).toBe(mtimeMs);
  });

  it.each(['demo', 'hybrid', 'window'])(
    'has a head whose slot holds a dialog that begins with it: %s',
    async (name) => {
      const { text } = await ask({ name });
      const { kept, later } = await withModel(
        async (model) => {
          await generate(model.openSequence(), question);
          const sequence = model.openSequence();
          const { kept } = await sequence.prefill(userPrompt('', head), signal, { keep: true });
          return { kept, later: await generate(sequence, question, { sampling: { max_tokens: 16 } }) };
        },
        { name },
      );
      expect(kept).toBe('saved');
      expect(later.text).toBe(text);
      expect(later.tokens.reused).toBeGreaterThan(100);
      expect(await ask({ name })).toMatchObject({ text, restored: 1 });
    },
  );

  it('leaves a dialog in its slot when the head of it is not to be kept', () =>
    withModel(async (model) => {
      await generate(model.openSequence(), question);
      const sequence = model.openSequence();
      expect((await sequence.prefill(userPrompt('', head), signal)).kept).toBe('not_asked');
      const { tokens } = await generate(sequence, question);
      expect(tokens.prompt - tokens.reused).toBe(1);
    }));

  it('starts each of many characters from it', () =>
    withModel(async (model) => {
      await model.openSequence().prefill(userPrompt('', head), signal, { keep: true });
      for (const character of ['Ann', 'Bob', 'Cid']) {
        await generate(model.openSequence(), userPrompt('Hello!', `${character} rules. ${longText(3)}`));
        const { tokens } = await generate(model.openSequence(), userPrompt(`I am ${character}.`, head));
        expect(tokens.prompt - tokens.reused).toBeLessThan(30);
      }
    }));

  it('lends the part that another prompt shares with a head, of a model whose cache can be cut back', async () => {
    await warm();
    const reused = (text: string): Promise<number> =>
      withModel(async (model) => (await generate(model.openSequence(), userPrompt('Hi!', text))).tokens.reused);
    const [shared = 0] = await withModel((model) => model.count([head]));
    expect(await reused(`${head} You are old.`)).toBeGreaterThan(shared - 5);
    expect(await reused(`Once ${head}`)).toBe(0);
  });

  it('has only what is prefilled to be kept, and nothing of a dialog', async () => {
    await withModel(async (model) => {
      const secret = userPrompt(`My secret is walrus. ${longText(10)}`, head);
      const sequence = model.openSequence();
      await sequence.prefill(userPrompt('', head), signal);
      const { text } = await generate(sequence, secret);
      await sequence.prefill(nextPrompt(secret, text, ''), signal, { keep: true });
      await generate(sequence, nextPrompt(secret, text, 'And then?'));
      await generate(model.openSequence(), userPrompt('Something else.', longText(5)));
    });
    expect(await filesOf('')).toEqual([]);
  });

  it('can be read by its user only', async () => {
    await warm();
    expect((await stat(join(cache, 'prompts'))).mode & 0o777).toBe(0o700);
    for (const file of await filesOf('')) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['is cut', async () => truncate(await onlyFile('.state'), 5000)],
    ['is altered', async () => alter(await onlyFile('.state'))],
    ['is missing', async () => rm(await onlyFile('.state'))],
    ['has an altered header', async () => alter(await onlyFile('.json'))],
    ['has no header', async () => writeFile(await onlyFile('.json'), '{}')],
    ['is that of other tokens', () => replaceByOther()],
  ])('throws a file away that %s, and gives the same answer', async (_, damage) => {
    await warm();
    await damage();
    expect(await ask()).toEqual(fresh);
    expect(await filesOf('.json')).toEqual([]);
    expect(await filesOf('.state')).toEqual([]);
  });

  it('is not used for another model, or the same with other settings', async () => {
    await warm();
    const other = { options: { contextSize: 1024 } };
    expect((await ask(other)).reused).toBe(0);
    expect((await ask({ ...other, name: 'hybrid' })).reused).toBe(0);
    expect((await ask({ options: { kvCacheType: 'q8_0' } })).reused).toBe(0);
    await onlyFile('.state');
    expect((await ask()).reused).toBeGreaterThan(100);
  });

  it('stays within the limit of the cache folder, together with swapped states', async () => {
    expect((await warm({ megabytes: 0.01 })).kept).toBe('failed');
    expect(await filesOf('.state')).toEqual([]);
    await warm();
    await ask({ megabytes: 0 });
    expect(await filesOf('.state')).toEqual([]);
  });

  it('is left out where its folder cannot be written', async () => {
    await writeFile(join(cache, 'prompts'), '');
    expect((await warm()).kept).toBe('failed');
    expect((await ask()).reused).toBe(0);
  });
});

async function alter(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await chmod(file, 0o600);
  await writeFile(file, bytes);
}

/** Writes the state of another prompt over that of the only one, with the right size and checksum in the header. */
async function replaceByOther(): Promise<void> {
  const [state, header] = [await onlyFile('.state'), await onlyFile('.json')];
  const other = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await using engine = llamaEngine({ folder: other, maxStateBytes: 1e9 });
  const model = await engine.load(join(models, 'demo.gguf'), load);
  await model.openSequence().prefill(userPrompt('', longText(30)), signal, { keep: true });
  const names = await readdir(join(other, 'prompts'));
  const pathOf = (extension: string) => join(other, 'prompts', names.find((name) => name.endsWith(extension)) ?? '');
  await copyFile(pathOf('.state'), state);
  const { bytes, checksum } = JSON.parse(await readFile(pathOf('.json'), 'utf8')) as {
    bytes: number;
    checksum: string;
  };
  const own = JSON.parse(await readFile(header, 'utf8')) as object;
  await writeFile(header, JSON.stringify({ ...own, bytes, checksum }));
  await rm(other, { recursive: true });
}
