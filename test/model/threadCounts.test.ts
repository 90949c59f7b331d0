import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LlamaContext, Token } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createContext } from '../../src/inference/llama/createContext.ts';
import { threadTimingsCache } from '../../src/inference/llama/threads/threadTimingsCache.ts';
import { LlamaModel } from '../../src/inference/llama/model.ts';
import { noModelMemory } from '../../src/inference/contract/memory.ts';
import { fullPace, Pace } from '../../src/inference/contract/pace.ts';
import { generate as generateText, longText, userPrompt } from '../contracts/generation.ts';
import { openDemo, type Demo } from './demo.ts';

// Nothing is known of other programs, so that none of them changes a count.
vi.mock(import('../../src/inference/llama/threads/freeCores.ts'), async (original) => {
  const module = await original();
  class NothingKnown extends module.FreeCores {
    constructor() {
      super(() => undefined);
    }
  }
  return { ...module, FreeCores: NothingKnown };
});

const file = { file: 'demo.gguf', size: 1 };
const { availableParallelism, loadavg } = os;

describe('the thread counts that llama.cpp applies', () => {
  let demo: Demo;
  let folder: string;
  beforeAll(async () => {
    demo = await openDemo();
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    // Two cores, whatever the machine has; timings of a machine under load are not stored.
    os.availableParallelism = () => 2;
    os.loadavg = () => [0, 0, 0];
    syncBuiltinESMExports();
    setPhysicalCores(2);
  });
  afterAll(async () => {
    Object.assign(os, { availableParallelism, loadavg });
    syncBuiltinESMExports();
    await demo.close();
    await rm(folder, { recursive: true });
  });

  async function openContext(threads: number) {
    const timingsCache = threadTimingsCache(folder);
    // One thread decodes best, so that two are not tried before minutes have passed.
    const timings = new Map([
      [1, 1],
      [2, 2],
    ]);
    await timingsCache.set(file, 2, timings);
    const opened = await createContext(demo.weights, { contextSize: 512, slots: 2, threads, file, timingsCache });
    return { ...opened, batches: recordBatches(opened.context) };
  }

  const setPhysicalCores = (value: number): unknown =>
    Object.defineProperty(demo.llama, 'cpuMathCores', { value, configurable: true });

  const prompt = (): Token[] => demo.tokenizer.tokenizePlain('Nine ropes hang by the door. '.repeat(10)).slice(0, 60);

  it('are all cores for a prompt, and those of the decode tuner for next tokens', async () => {
    const { context, threads, batches } = await openContext(0);
    expect([threads.decode, threads.prefill]).toEqual([1, 2]);
    await generate(context, prompt(), 3);
    expect(batches).toEqual([
      { tokens: 60, threads: 2 },
      { tokens: 1, threads: 1 },
      { tokens: 1, threads: 1 },
    ]);
    // A message of a few tokens is no more work than a few next tokens.
    batches.length = 0;
    await generate(context, prompt().slice(0, 12), 2);
    expect(batches).toEqual([
      { tokens: 12, threads: 1 },
      { tokens: 1, threads: 1 },
    ]);
    await context.dispose();
  });

  it('are at most one for each physical core for a prompt', async () => {
    setPhysicalCores(1);
    const { context, threads, batches } = await openContext(0);
    await generate(context, prompt(), 1);
    expect(threads.prefill).toBe(1);
    expect(batches).toEqual([{ tokens: 60, threads: 1 }]);
    await context.dispose();
    setPhysicalCores(2);
  });

  it('are at most those that are given', async () => {
    const { context, threads, batches } = await openContext(1);
    await generate(context, prompt(), 2);
    expect([threads.decode, threads.prefill]).toEqual([1, 1]);
    expect(batches).toEqual([
      { tokens: 60, threads: 1 },
      { tokens: 1, threads: 1 },
    ]);
    await context.dispose();
  });

  it('are at most those of the pace of a session, which may change between two turns', async () => {
    const opened = await openContext(0);
    const free = { ram: 0, vram: 0 };
    const resizable = { resizing: undefined, memoryWith: async () => noModelMemory };
    const settings = { contextSize: 512, notes: [], stateSwap: undefined, promptCache: undefined, onClose: () => {} };
    const model = new LlamaModel({
      weights: demo.weights,
      ...opened,
      ...resizable,
      ...settings,
      free,
      memory: noModelMemory,
    });
    await using sequence = model.openSequence();
    const pace = new Pace({ ...fullPace, maxThreads: 1 });
    const threadsOf = async (text: string): Promise<readonly number[]> => {
      opened.batches.length = 0;
      await generateText(sequence, userPrompt(text), { pace, sampling: { max_tokens: 2 } });
      return [...new Set(opened.batches.map(({ threads }) => threads))];
    };
    expect(await threadsOf(longText(5))).toEqual([1]);
    pace.set(fullPace);
    expect(await threadsOf(`Then ${longText(5)}`)).toEqual([2, 1]);
    await opened.context.dispose();
  });
});

async function generate(context: LlamaContext, tokens: Token[], count: number): Promise<void> {
  const sequence = context.getSequence();
  const generation = sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true });
  for (let token = 0; token < count; token++) await generation.next();
  await generation.return();
  await sequence.dispose();
}

interface NativeContext {
  initBatch(tokens: number): void;
  decodeBatch(): Promise<void>;
  getThreads(): number;
}

/** Records the size of each batch of a context, and llama.cpp's number of threads while it is computed. */
function recordBatches(context: LlamaContext): { tokens: number; threads: number }[] {
  const native = Reflect.get(context, '_ctx') as NativeContext;
  const [initBatch, decodeBatch] = [native.initBatch.bind(native), native.decodeBatch.bind(native)];
  const batches: { tokens: number; threads: number }[] = [];
  let size = 0;
  const replace = (name: keyof NativeContext, value: unknown) =>
    Object.defineProperty(native, name, { value, configurable: true });
  replace('initBatch', (tokens: number) => {
    size = tokens;
    initBatch(tokens);
  });
  replace('decodeBatch', () => {
    batches.push({ tokens: size, threads: native.getThreads() });
    return decodeBatch();
  });
  return batches;
}
