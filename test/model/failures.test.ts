import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { hookBatches } from '../../src/inference/llama/nativePatches.ts';
import { userPrompt, neverAborted, generate } from '../contracts/generation.ts';
import { demoFile, openDemo, type Demo } from './demo.ts';

describe('a failure of the library', () => {
  let demo: Demo;
  beforeAll(async () => {
    demo = await openDemo();
  });
  afterAll(() => demo.close());

  it('during a generation rejects it, and nothing is emitted afterwards', async () => {
    const { slots, sequence: open, deferredQueue } = await demo.open(1);
    const sequence = open();
    const { text } = await generate(sequence, userPrompt('Tell me a joke'));
    const slot = await slots.acquire({ owner: sequence, prompt: [], priority: 'NORMAL' }, neverAborted);
    if (!slot) throw new Error('no slot');
    const { evaluate } = slot.cache;
    slot.cache.evaluate = async function* (...args: Parameters<typeof evaluate>) {
      let left = 4;
      for await (const token of evaluate.apply(slot.cache, args)) {
        if (left-- === 0) throw new Error('out of memory');
        yield token;
      }
    };
    slots.release(slot);
    const pieces: string[] = [];
    const failing = generate(sequence, userPrompt('Tell me a joke'), { onText: (piece) => pieces.push(piece) });
    await expect(failing).rejects.toMatchObject({ name: 'INFERENCE_FAILED' });
    const emitted = pieces.join('');
    expect(emitted).not.toBe('');
    expect(text.startsWith(emitted)).toBe(true);
    // The next batch of another sequence.
    deferredQueue.runDeferred();
    await generate(open(), userPrompt('How are you today?'));
    expect(pieces.join('')).toBe(emitted);
  });

  it('to sample a token fails only that sequence', async () => {
    const { context, sequence: open } = await demo.open(2);
    const native: object = Reflect.get(context, '_ctx');
    const sampleToken: (...args: unknown[]) => Promise<unknown> = Reflect.get(native, 'sampleToken');
    let samples = 0;
    const failing = (...args: unknown[]): Promise<unknown> =>
      ++samples === 7 ? Promise.reject(new Error('a native exception')) : sampleToken.apply(native, args);
    Object.defineProperty(native, 'sampleToken', { value: failing, configurable: true });
    hookBatches(context, { onStart: () => {}, onEnd: () => {} });
    const outcomes = await Promise.allSettled(
      [open(), open()].map((one) => generate(one, userPrompt('Tell me a joke'))),
    );
    const failed = outcomes.filter(({ status }) => status === 'rejected');
    expect(failed).toMatchObject([{ reason: { name: 'INFERENCE_FAILED' } }]);
    expect((await generate(open(), userPrompt('Tell me a joke'))).finishReason).toBe('end');
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'to read the logits of an answer fails only that scoring (read %s)',
    async (failingRead) => {
      const { context, slots, sequence: open } = await demo.open(2);
      const native: object = Reflect.get(context, '_ctx');
      const sampleToken: (...args: unknown[]) => Promise<unknown> = Reflect.get(native, 'sampleToken');
      const [one, other] = [open(), open()];
      const answers = ['yes', 'no'];
      const { scores } = await one.score(userPrompt('Tell me a joke'), answers, { signal: neverAborted });
      let reads = 0;
      const failing = (...args: unknown[]): Promise<unknown> =>
        args[2] !== undefined && ++reads === failingRead
          ? Promise.reject(new Error('a native exception'))
          : sampleToken.apply(native, args);
      Object.defineProperty(native, 'sampleToken', { value: failing, configurable: true });
      hookBatches(context, { onStart: () => {}, onEnd: () => {} });
      const scoring = one.score(userPrompt('Tell me a joke'), answers, { signal: neverAborted });
      const generating = generate(other, userPrompt('Tell me a joke'));
      await expect(scoring).rejects.toMatchObject({ name: 'INFERENCE_FAILED' });
      expect((await generating).finishReason).toBe('end');
      expect(slots.stats()).toMatchObject({ slotsBusy: 0, waiting: 0 });
      const again = await one.score(userPrompt('Tell me a joke'), answers, { signal: neverAborted });
      for (const [index, score] of again.scores.entries()) expect(score).toBeCloseTo(scores[index] ?? NaN, 1);
    },
  );
});

describe('an engine', () => {
  it('removes its listeners from the signal when a load ends', async () => {
    await using engine = llamaEngine();
    const { signal } = new AbortController();
    const options = { contextSize: 256, slots: 1, threads: 1, gpu: 'off', signal } as const;
    await engine.load(demoFile, options);
    await expect(engine.load(`${demoFile}.none`, options)).rejects.toThrow();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('an engine that is disposed of', () => {
  it('rejects pending loads', async () => {
    const engine = llamaEngine();
    const loading = engine.load(demoFile, { contextSize: 256, slots: 1, threads: 1, gpu: 'off' });
    const outcome = loading.then(
      () => 'loaded',
      () => 'rejected',
    );
    await engine[Symbol.asyncDispose]();
    expect(await outcome).toBe('rejected');
  });

  it('frees each model once, even if it is disposed of several times', async () => {
    const engine = llamaEngine();
    const load = () => engine.load(demoFile, { contextSize: 256, slots: 1, threads: 1, gpu: 'off' });
    const model = await load();
    await Promise.all([model[Symbol.asyncDispose](), model[Symbol.asyncDispose]()]);
    const [one, other] = await Promise.all([load(), load()]);
    const texts = await Promise.all(
      [one, other].map((each) => generate(each.openSequence(), userPrompt('Tell me a joke'))),
    );
    expect(new Set(texts.map(({ text }) => text)).size).toBe(1);
    await engine[Symbol.asyncDispose]();
  });
});
