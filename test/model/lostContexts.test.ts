import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { getLlama, type Llama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
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

describe('weights are disposed of', () => {
  it.each<[string, (weights: LlamaModel) => Promise<unknown>]>([
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
  ])('with a context %s', async (_, make) => {
    const llama: Llama = await getLlama({
      build: 'never',
      gpu: false,
      maxThreads: 0,
      logLevel: LlamaLogLevel.disabled,
    });
    const weights = await llama.loadModel({ modelPath: demoFile });
    holdContexts(weights);
    await make(weights);
    await collect();
    await weights.dispose();
    await llama.dispose();
    expect([weights.disposed, llama.disposed]).toEqual([true, true]);
  });
});
