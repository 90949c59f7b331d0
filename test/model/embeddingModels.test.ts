import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import type { LoadOptions } from '../../src/inference/contract/engine.ts';
import { httpEngine } from '../../src/inference/remote/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { totalMemory } from '../../src/inference/contract/memory.ts';

const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
const file = join(folder, 'bert.gguf');
const unpooled = join(folder, 'unpooled.gguf');
writeFileSync(file, bertGguf({ contextLength: 2048 }));
writeFileSync(unpooled, bertGguf({ pooling: 'none' }));
const other = join(folder, 'other.gguf');
const demo = fileURLToPath(new URL('../../models/turngraph-demo.gguf', import.meta.url));
const engine = llamaEngine();
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const options: LoadOptions = { contextSize: 0, slots: 0, threads: 1, gpu: 'off' };

describe('loading an embedding model', () => {
  it.each([
    ['a chat model as an embedding model', demo, 'embedding', 'its file names no pooling'],
    ['a model without pooling', unpooled, 'embedding', 'its file names no pooling'],
    ['an embedding model as a chat model', file, 'chat', 'it is an embedding model, and generates no text'],
  ] as const)('refuses %s', async (_, path, purpose, message) => {
    await expect(engine.load(path, { ...options, purpose })).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining(message),
    });
  });

  it('is refused by the http engine', async () => {
    await expect(httpEngine().load('', { ...options, purpose: 'embedding' })).rejects.toThrow('no embeddings');
  });

  it.each([
    [0, 512],
    [1024, 1024],
    [255, 255],
    [5000, 2048],
  ])('gives a context_size of %i a context of %i tokens', async (contextSize, expected) => {
    await using model = await engine.load(file, { ...options, contextSize, purpose: 'embedding' });
    expect(model.contextSize).toBe(expected);
  });

  it('has a fingerprint of its file and its context', async () => {
    const fingerprintOf = async (path: string, contextSize = 0): Promise<string | undefined> => {
      await using model = await engine.load(path, { ...options, contextSize, purpose: 'embedding' });
      return model.embedding?.fingerprint;
    };
    const fingerprint = await fingerprintOf(file);
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(await fingerprintOf(file)).toBe(fingerprint);
    expect(await fingerprintOf(file, 256)).not.toBe(fingerprint);
    writeFileSync(other, bertGguf({ contextLength: 2048, seed: 2 }));
    expect(await fingerprintOf(other)).not.toBe(fingerprint);
  });

  it('takes what was estimated for it', async () => {
    const wanted = { ...options, purpose: 'embedding' } as const;
    const plan = await engine.estimate?.(file, wanted);
    await using model = await engine.load(file, wanted);
    const { ram } = totalMemory(model.stats().memory);
    expect(plan).toMatchObject({ slots: 1, contextSize: 512 });
    expect(ram).toBeGreaterThan(0);
    expect(ram).toBeLessThanOrEqual(1.5 * totalMemory(plan ?? model.stats().memory).ram);
  });

  it('is refused where a limit of memory leaves too little', async () => {
    const within = { ram: 500_000, vram: 0 };
    await expect(engine.load(file, { ...options, purpose: 'embedding', within })).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining('--memory-limit'),
    });
  });
});
