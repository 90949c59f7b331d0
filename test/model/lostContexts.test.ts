import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { getLlama, type Llama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp';
import { beforeAll, describe, expect, it } from 'vitest';
import { holdContexts } from '../../src/inference/llama/nativePatches.ts';
import { demoFile } from './demo.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What nothing refers to is gone after this. */
async function collect(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await wait(20);
    collectGarbage();
  }
}

const shape = { contextSize: 256, threads: 1 };

const contexts: readonly (readonly [string, (weights: LlamaModel) => Promise<unknown>])[] = [
  ['that nothing refers to any more', (weights) => weights.createContext(shape)],
  [
    'that could not be made',
    (weights) => weights.createContext({ ...shape, createSignal: AbortSignal.abort() }).catch(() => 'aborted'),
  ],
  [
    'that was made after others could not be',
    async (weights) => {
      const aborted = { ...shape, createSignal: AbortSignal.abort() };
      const made = await Promise.allSettled([weights.createContext(aborted), weights.createContext(shape)]);
      expect(made.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    },
  ],
  ['that vectors are computed with', (weights) => weights.createEmbeddingContext(shape)],
  ['that is disposed of', async (weights) => (await weights.createContext(shape)).dispose()],
];

describe('weights are disposed of', () => {
  const loaded = new Map<string, { readonly llama: Llama; readonly weights: LlamaModel }>();
  beforeAll(async () => {
    for (const [name, make] of contexts) {
      const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
      const weights = await llama.loadModel({ modelPath: demoFile });
      holdContexts(weights);
      await make(weights);
      loaded.set(name, { llama, weights });
    }
    await collect();
  });

  it.each(contexts.map(([name]) => name))('with a context %s', async (name) => {
    const { llama, weights } = loaded.get(name) ?? {};
    await weights?.dispose();
    await llama?.dispose();
    expect([weights?.disposed, llama?.disposed]).toEqual([true, true]);
  });
});
