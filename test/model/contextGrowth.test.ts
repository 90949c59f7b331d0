import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlamaModel } from 'node-llama-cpp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Model } from '../../src/inference/contract/engine.ts';
import { BatchTimer } from '../../src/inference/llama/batching/batchTimer.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { generate, longText, neverAborted, nextPrompt, userPrompt } from '../contracts/generation.ts';

let folder = '';
let file = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  file = join(folder, 'long.gguf');
  // So many slots that short ones save much memory.
  const shape = { ...shapes.tiny, heads: 1, kvHeads: 1, layers: 3, contextLength: 8192, weights: 'F32' } as const;
  await writeRandomModel(file, shape);
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  // Prefill seems so slow that swapping pays off on any disk.
  const { end } = BatchTimer.prototype;
  vi.spyOn(BatchTimer.prototype, 'end').mockImplementation(function (this: BatchTimer) {
    end.call(this, performance.now() + 600_000);
  });
});
afterEach(() => vi.restoreAllMocks());

/** The sizes of the contexts that are made while a model is in use. Without a cache folder its slots have their full size. */
async function withModel<T>(work: (model: Model) => Promise<T>, cache?: string) {
  const made = vi.spyOn(LlamaModel.prototype, 'createContext');
  await using engine = llamaEngine(
    cache === undefined ? undefined : { folder: join(folder, cache), maxStateBytes: 500e6 },
  );
  const model = await engine.load(file, { contextSize: 0, slots: 16, threads: 1, gpu: 'off' });
  const result = await work(model);
  const sizes = made.mock.calls.map(([options]) => options?.contextSize);
  made.mockRestore();
  return { result, sizes };
}

const sampling = { max_tokens: 16 };

/** The answers of a conversation whose messages have so many sentences. What was in its slot is not evaluated again. */
async function converse(model: Model, messages: readonly number[], name = 'the lamp'): Promise<readonly string[]> {
  await using sequence = model.openSequence();
  const texts: string[] = [];
  let evaluated = 0;
  let prompt = userPrompt('Hello.', `You are ${name}.`);
  for (const sentences of messages) {
    const { text, tokens } = await generate(sequence, prompt, { sampling });
    expect(tokens.reused).toBeGreaterThanOrEqual(evaluated);
    evaluated = tokens.prompt;
    texts.push(text);
    prompt = nextPrompt(prompt, text, longText(sentences));
  }
  return texts;
}

describe('the slots of a model with a long context', () => {
  it('begin short, and get longer with a conversation, which goes on as in a slot of the full size', async () => {
    const messages = [30, 60, 40, 80, 60, 1];
    const alone = await withModel((model) => converse(model, messages));
    const growing = await withModel(async (model) => {
      const texts = await converse(model, messages);
      expect(model.stats().statesRestored).toBeGreaterThan(0);
      return texts;
    }, 'one');
    expect(alone.sizes).toEqual([8192]);
    expect(growing.sizes).toEqual([2048, 4096, 8192]);
    expect(growing.result).toEqual(alone.result);
  });

  it('get longer under conversations that speak meanwhile: none of them changes', async () => {
    const talk = (model: Model): Promise<readonly (readonly string[])[]> =>
      Promise.all([
        converse(model, [40, 60, 1], 'a tower'),
        converse(model, [1, 1, 1, 1, 1, 1, 1, 1], 'a bridge'),
        converse(model, [2, 30, 70, 2], 'a gate'),
      ]);
    const whole = await withModel(talk);
    const growing = await withModel(talk, 'several');
    expect(growing.sizes.length).toBeGreaterThan(1);
    expect(growing.result).toEqual(whole.result);
  });

  it('are as long as the first prompt needs', async () => {
    const prompt = userPrompt(longText(120));
    const answer = async (model: Model): Promise<string> => {
      await using sequence = model.openSequence();
      return (await generate(sequence, prompt, { sampling })).text;
    };
    const whole = await withModel(answer);
    const growing = await withModel(answer, 'first');
    expect(growing.sizes).toEqual([2048, 4096]);
    expect(growing.result).toEqual(whole.result);
  });

  it('get longer within an answer', async () => {
    const answer = async (model: Model) => {
      await using sequence = model.openSequence();
      const { text, finishReason } = await generate(sequence, userPrompt(longText(75)), {
        sampling: { max_tokens: 500 },
      });
      return { text, finishReason };
    };
    const whole = await withModel(answer);
    const growing = await withModel(answer, 'answer');
    expect(whole.result.finishReason).toBe('length');
    expect(growing.sizes).toEqual([2048, 4096]);
    expect(growing.result).toEqual(whole.result);
  });

  it('score answers as in a slot of the full size', async () => {
    const answers = [longText(3), longText(30)];
    const score = async (model: Model) => {
      await using sequence = model.openSequence();
      return await sequence.score(userPrompt(longText(60)), answers, { signal: neverAborted });
    };
    const whole = await withModel(score);
    expect(whole.result.finishReason).toBe('end');
    const growing = await withModel(score, 'scores');
    expect(growing.sizes).toEqual([2048, 4096]);
    expect(growing.result.scores).toEqual(whole.result.scores);
  });

  it('stay as they are if there is no memory: a prompt that does not fit is refused, an answer ends, the others go on', async () => {
    const { createContext } = LlamaModel.prototype;
    const { sizes } = await withModel(async (model) => {
      vi.spyOn(LlamaModel.prototype, 'createContext').mockImplementation(function (this: LlamaModel, options = {}) {
        return Number(options.contextSize) > 2048
          ? Promise.reject(new Error('no memory'))
          : createContext.call(this, options);
      });
      const short = converse(model, [1, 1, 1, 1]);
      await using sequence = model.openSequence();
      await expect(generate(sequence, userPrompt(longText(120)), { sampling })).rejects.toThrow(
        /there is no memory for a context of \d+ tokens, only for 2048.*lower context_size/,
      );
      expect((await short).length).toBe(4);
      // There is room for the prompt, if not for all that an answer may have.
      const cutOff = await generate(sequence, userPrompt(longText(82)), { sampling: { max_tokens: 500 } });
      expect(cutOff).toMatchObject({ finishReason: 'length', text: expect.stringMatching(/./) });
      const { prompt, generated } = cutOff.tokens;
      expect(prompt + generated).toBeGreaterThan(2040);
      expect(prompt + generated).toBeLessThanOrEqual(2050);
      expect((await converse(model, [1])).length).toBe(1);
    }, 'refused');
    // Tried once.
    expect(sizes).toEqual([2048, 4096, 2048]);
  });

  it('do not keep a model from being unloaded while several conversations wait for longer ones', async () => {
    const { createContext } = LlamaModel.prototype;
    const begun = new Promise<void>((resolve) => {
      vi.spyOn(LlamaModel.prototype, 'createContext').mockImplementation(function (this: LlamaModel, options = {}) {
        if (Number(options.contextSize) > 2048) resolve();
        return createContext.call(this, options);
      });
    });
    await using engine = llamaEngine({ folder: join(folder, 'unloaded'), maxStateBytes: 500e6 });
    const model = await engine.load(file, { contextSize: 0, slots: 16, threads: 1, gpu: 'off' });
    const answers = [120, 110, 300].map((sentences) =>
      generate(model.openSequence(), userPrompt(longText(sentences)), { sampling }),
    );
    await begun;
    await model[Symbol.asyncDispose]();
    expect((await Promise.all(answers)).map(({ finishReason }) => finishReason)).toEqual(Array(3).fill('aborted'));
  });

  it('leave a kept head that is longer than they are to longer prompts', async () => {
    const warm = async (model: Model, sentences: number): Promise<void> => {
      await using sequence = model.openSequence();
      const prompt = {
        messages: [
          { role: 'system', text: longText(sentences) },
          { role: 'user', text: '' },
        ],
      } as const;
      await sequence.prefill(prompt, neverAborted, { keep: true });
    };
    await withModel((model) => warm(model, 120), 'heads');
    await withModel(async (model) => {
      await using sequence = model.openSequence();
      await generate(sequence, userPrompt('Hello.', longText(20)), { sampling });
      expect(model.stats().promptsRestored).toBe(0);
      await generate(sequence, userPrompt('Hello.', longText(120)), { sampling });
      expect(model.stats().promptsRestored).toBe(1);
    }, 'heads');
  });
});
