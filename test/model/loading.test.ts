import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, LoadOptions, Model } from '../../src/inference/contract/engine.ts';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { defaultSampling } from '../../src/inference/contract/samplingParams.ts';
import { demoFile } from './demo.ts';

describe('loading a GGUF file', () => {
  let folder: string;
  let whole: Buffer;
  let engine: Engine;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    whole = await readFile(demoFile);
    engine = llamaEngine();
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const load = (file: string, options: Partial<LoadOptions> = {}) =>
    engine.load(file, { contextSize: 256, slots: 1, threads: 1, gpu: 'off', ...options });

  async function writeModel(content: Uint8Array): Promise<string> {
    const file = join(folder, 'broken.gguf');
    await writeFile(file, content);
    return file;
  }

  it.each([
    [
      'does not exist',
      (): Promise<string> => Promise.resolve(join(folder, 'none.gguf')),
      'there is no file none.gguf: check the path',
    ],
    [
      'lacks a part',
      async () => {
        await writeFile(join(folder, 'whole-00001-of-00002.gguf'), whole);
        return join(folder, 'whole-00001-of-00002.gguf');
      },
      'there is no file whole-00002-of-00002.gguf',
    ],
    ['is a folder', () => Promise.resolve(folder), 'it is no file'],
    ['is empty', () => writeModel(new Uint8Array()), 'it is no GGUF file'],
    ['is a text', () => writeModel(Buffer.from('Once upon a time there was a lamp.')), 'it is no GGUF file'],
    [
      'is of another version',
      () => writeModel(Buffer.concat([whole.subarray(0, 4), Buffer.from([9, 0, 0, 0]), whole.subarray(8)])),
      'its GGUF version is 9',
    ],
    ['ends in its header', () => writeModel(whole.subarray(0, 5000)), 'download it again'],
    ['ends in its vocabulary', () => writeModel(whole.subarray(0, 20_000)), 'download it again'],
    ['ends in its weights', () => writeModel(whole.subarray(0, 4_000_000)), 'download it again'],
    ['ends a byte too early', () => writeModel(whole.subarray(0, -1)), 'download it again'],
    ['counts more entries than it has', () => writeModel(withNumberAt(16, 9_999_999_999n)), 'download it again'],
    ['counts more tensors than it has', () => writeModel(withNumberAt(8, 2n ** 60n)), 'download it again'],
    ['has no context length', () => writeModel(withRenamedKey('llama.context_length')), 'context_length is missing'],
    [
      'has no feed forward length',
      () => writeModel(withRenamedKey('llama.feed_forward_length')),
      'feed_forward_length is missing',
    ],
    ['has a token twice', () => writeModel(withRenamedKey('market', 'a')), 'has a token twice'],
  ])('rejects one that %s', async (_, file, why) => {
    await expect(load(await file())).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining(why),
    });
  });

  /** The file with a text in its header replaced, and padded with NUL bytes. */
  function withRenamedKey(name: string, other = name.replace('llama.', 'lemon.')): Buffer {
    const copy = Buffer.from(whole);
    copy.write(other.padEnd(name.length, '\0'), copy.indexOf(name), 'latin1');
    return copy;
  }

  function withNumberAt(offset: number, value: bigint): Buffer {
    const copy = Buffer.from(whole);
    copy.writeBigUInt64LE(value, offset);
    return copy;
  }

  it('rejects more slots than fit in memory, with both numbers', async () => {
    await expect(load(demoFile, { slots: 200_000, contextSize: 2048 })).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringMatching(/200000 slots of 2048 tokens need \d+ MB of memory and \d+ MB are free: lower/),
    });
  });

  it('uses the trained context size for 0, and as the maximum, with a note', async () => {
    const trained = await load(demoFile, { contextSize: 0 });
    expect([trained.contextSize, trained.notes]).toEqual([2048, []]);
    const larger = await load(demoFile, { contextSize: 10_000 });
    expect(larger.contextSize).toBe(2048);
    expect(larger.notes).toEqual([expect.stringContaining('10000')]);
  });

  it.each(['q8_0', 'q4_0'] as const)(
    'uses a KV cache of type %s, with a note that it is experimental',
    async (kvCacheType) => {
      const [f16Model, quantizedModel] = [await load(demoFile), await load(demoFile, { kvCacheType })];
      expect(f16Model.notes).toEqual([]);
      expect(quantizedModel.notes).toEqual([expect.stringMatching(`kv_cache_type ${kvCacheType} is experimental`)]);
      expect(await generateText(quantizedModel)).toMatch(/\w+ \w+/);
    },
  );

  it('rejects an unsupported KV cache type with a hint', async () => {
    const file = await writeModel(familyGguf('Qwen3'));
    await expect(load(file, { kvCacheType: 'q8_0' })).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringMatching(/kv_cache_type q8_0, which is experimental .*: take f16$/),
    });
  });

  async function generateText(model: Model): Promise<string> {
    await using sequence = model.openSequence();
    const sampling = { ...defaultSampling, temperature: 0, max_tokens: 24 };
    const messages = [{ role: 'user', text: 'Hello! What do you sell?' }] as const;
    return (await sequence.generate({ messages }, { sampling, signal: new AbortController().signal })).text;
  }

  it('stops when its signal is aborted', async () => {
    const control = new AbortController();
    const loading = load(demoFile, { signal: control.signal, onProgress: () => control.abort() });
    await expect(loading).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining('cancelled'),
    });
  });

  it('detects no tool-call format in the demo model', async () => {
    expect((await load(demoFile)).toolDialect.format).toBeUndefined();
  });
});
