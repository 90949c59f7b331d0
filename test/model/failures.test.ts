import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { llamaEngine } from '../../src/engine/llama/engine.ts';
import { hookBatches } from '../../src/engine/llama/batching/batchHooks.ts';
import { userPrompt, neverAborted, generate } from '../contracts/generation.ts';
import { demoFile, openDemo, type Demo } from './demo.ts';

describe('a failure of the library', () => {
  let demo: Demo;
  beforeAll(async () => {
    demo = await openDemo();
  });
  afterAll(() => demo.close());

  it('while an answer is written ends it with what was said before, and nothing is said later', async () => {
    const { slots, sequence: open, deferredQueue } = await demo.open(1);
    const sequence = open();
    const { text } = await generate(sequence, userPrompt('Tell me a joke'));
    const slot = await slots.acquire(sequence, [], neverAborted);
    if (!slot) throw new Error('no slot');
    const { evaluate } = slot.cache;
    slot.cache.evaluate = async function* (...given: Parameters<typeof evaluate>) {
      let left = 4;
      for await (const token of evaluate.apply(slot.cache, given)) {
        if (left-- === 0) throw new Error('out of memory');
        yield token;
      }
    };
    slots.release(slot);
    const pieces: string[] = [];
    const failing = generate(sequence, userPrompt('Tell me a joke'), { onText: (piece) => pieces.push(piece) });
    await expect(failing).rejects.toMatchObject({ name: 'INFERENCE_FAILED' });
    const said = pieces.join('');
    expect(said).not.toBe('');
    expect(text.startsWith(said)).toBe(true);
    // The next batch of somebody else.
    deferredQueue.runDeferred();
    await generate(open(), userPrompt('How are you today?'));
    expect(pieces.join('')).toBe(said);
  });

  it('to draw a token fails one sequence, and no other', async () => {
    const { context, sequence: open } = await demo.open(2);
    const native: object = Reflect.get(context, '_ctx');
    const own: (...given: unknown[]) => Promise<unknown> = Reflect.get(native, 'sampleToken');
    let draws = 0;
    const failing = (...given: unknown[]): Promise<unknown> =>
      ++draws === 7 ? Promise.reject(new Error('a native exception')) : own.apply(native, given);
    Object.defineProperty(native, 'sampleToken', { value: failing, configurable: true });
    hookBatches(context, { onStart: () => {}, onEnd: () => {} });
    const outcomes = await Promise.allSettled(
      [open(), open()].map((one) => generate(one, userPrompt('Tell me a joke'))),
    );
    const failed = outcomes.filter(({ status }) => status === 'rejected');
    expect(failed).toMatchObject([{ reason: { name: 'INFERENCE_FAILED' } }]);
    expect((await generate(open(), userPrompt('Tell me a joke'))).finishReason).toBe('end');
  });
});

describe('an engine', () => {
  it('holds on to no signal of a load that is over', async () => {
    await using engine = llamaEngine();
    const { signal } = new AbortController();
    const options = { contextSize: 256, slots: 1, threads: 1, gpu: 'off', signal } as const;
    await engine.load(demoFile, options);
    await expect(engine.load(`${demoFile}.none`, options)).rejects.toThrow();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('an engine that is disposed of', () => {
  it('ends the loads that are under way', async () => {
    const engine = llamaEngine();
    const loading = engine.load(demoFile, { contextSize: 256, slots: 1, threads: 1, gpu: 'off' });
    const outcome = loading.then(
      () => 'loaded',
      () => 'refused',
    );
    await engine[Symbol.asyncDispose]();
    expect(await outcome).toBe('refused');
  });

  it('frees each model once, however often that is asked', async () => {
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
