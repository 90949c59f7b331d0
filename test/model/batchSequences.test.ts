import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlamaModel, type LlamaContext } from 'node-llama-cpp';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Prompt } from '../../src/chat/dialog.ts';
import type { Completion, Model, Sequence } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { patchNativeMethod } from '../../src/inference/llama/nativePatches.ts';
import { generate, longText, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { demoFile } from './demo.ts';
import { writeRecurrentModel } from './recurrentFile.ts';

let folder = '';
const fileOf = (name: string): string => join(folder, `${name}.gguf`);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeRecurrentModel(fileOf('recurrent'));
  await writeRandomModel(fileOf('plain'), { ...shapes.tiny, weights: 'F32' });
  await writeRandomModel(fileOf('window'), { ...shapes.tiny, weights: 'F32', window: 128 });
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

const { createContext } = LlamaModel.prototype;

/** The ids of the sequences of each batch that llama.cpp computes, and how many tokens each has in it. */
type Batches = [id: number, tokens: number][][];

async function withBatches(
  options: { readonly slots: number; readonly contextSize?: number; readonly file?: string },
  work: (model: Model, batches: Batches) => Promise<void>,
): Promise<void> {
  const batches: Batches = [];
  vi.spyOn(LlamaModel.prototype, 'createContext').mockImplementation(async function (this: LlamaModel, settings) {
    const context = await createContext.call(this, settings);
    record(context, batches);
    return context;
  });
  await using engine = llamaEngine();
  const { file = demoFile, contextSize = 1024, slots } = options;
  await work(await engine.load(file, { contextSize, slots, threads: 1, gpu: 'off' }), batches);
}

function record(context: LlamaContext, batches: Batches): void {
  patchNativeMethod<(size: number) => void>(context, 'initBatch', (init) => (size) => {
    batches.push([]);
    init(size);
  });
  type Add = (id: number, position: number, tokens: Uint32Array, logits: Uint32Array) => unknown;
  patchNativeMethod<Add>(context, 'addToBatch', (add) => (id, position, tokens, logits) => {
    batches.at(-1)?.push([id, tokens.length]);
    return add(id, position, tokens, logits);
  });
}

const idsOf = (batches: Batches): number[][] => batches.map((batch) => batch.map(([id]) => id));
const isDecode = (batch: Batches[number]): boolean => batch.every(([, tokens]) => tokens === 1);
const questions = ['Who are you?', 'Tell me a joke', 'How are you today?', 'Tell me a long story about the sea.'];

interface Speaker {
  readonly sequence: Sequence;
  readonly question: string;
  readonly answer: string;
}

// Nothing is evaluated ahead after it.
const aside = { priority: 'BACKGROUND' } as const;

/** Sequences that have answered, each in the slot of its index. */
async function speakers(model: Model, count: number): Promise<Speaker[]> {
  const all: Speaker[] = [];
  for (const question of questions.slice(0, count)) {
    const sequence = model.openSequence();
    all.push({ sequence, question, answer: (await generate(sequence, userPrompt(question), aside)).text });
  }
  return all;
}

/** A long answer. @param onText called with its first piece, and later ones. */
const story = (model: Model, onText: () => void): Promise<Completion> =>
  generate(model.openSequence(), userPrompt('Tell me a story.'), { sampling: { max_tokens: 200 }, onText });

const next = ({ question, answer }: Speaker, text = 'And then?'): Prompt =>
  nextPrompt(userPrompt(question), answer, text);

describe('the sequences of a batch', () => {
  it.each(['plain', 'recurrent', 'window'])(
    'of a %s model are all that generate, whenever they began',
    async (name) => {
      await withBatches({ slots: 4, file: fileOf(name) }, async (model, batches) => {
        const generations: Promise<unknown>[] = [];
        for (let index = 0; index < 3; index++)
          await new Promise<void>((resolve) => generations.push(story(model, resolve)));
        batches.length = 0;
        await Promise.all(generations);
        expect(idsOf(batches).slice(0, 20)).toEqual(Array(20).fill([0, 1, 2]));
      });
    },
  );

  it.each(['plain', 'recurrent', 'window'])(
    'of a %s model are soon those of one more, which cuts its cache back',
    async (name) => {
      await withBatches({ slots: 4, file: fileOf(name) }, async (model) => {
        const other = model.openSequence();
        await generate(other, userPrompt(longText(5)), { sampling: { max_tokens: 10 } });
        const order: string[] = [];
        const generations: Promise<unknown>[] = [];
        for (let index = 0; index < 3; index++)
          await new Promise<void>((resolve) => {
            generations.push(story(model, resolve).then(() => order.push('a long answer')));
          });
        await generate(other, userPrompt(`${longText(4)}What now?`), { sampling: { max_tokens: 5 } });
        order.push('its answer');
        await Promise.all(generations);
        expect(order).toEqual(['its answer', 'a long answer', 'a long answer', 'a long answer']);
      });
    },
  );

  it('are in the order of their slots, whichever asked first', async () => {
    await withBatches({ slots: 4 }, async (model, batches) => {
      const all = await speakers(model, 4);
      batches.length = 0;
      const texts = await Promise.all(
        all.toReversed().map(async (speaker, index) => {
          const { text } = await generate(speaker.sequence, next(speaker, longText(index * 3)));
          return text;
        }),
      );
      expect(texts).not.toContain('');
      expect(batches.some((batch) => batch.length === 4)).toBe(true);
      for (const ids of idsOf(batches)) expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    });
  });

  it('have a token of each idle sequence in between, of which nothing is left', async () => {
    const expected: Completion[] = [];
    await withBatches({ slots: 1 }, async (model) => {
      for (const speaker of await speakers(model, 3)) expected.push(await generate(speaker.sequence, next(speaker)));
    });
    await withBatches({ slots: 3 }, async (model, batches) => {
      const [first, idle, last] = await speakers(model, 3);
      if (!first || !idle || !last) throw new Error('three have spoken');
      batches.length = 0;
      const outer = await Promise.all([first, last].map((speaker) => generate(speaker.sequence, next(speaker))));
      expect(outer.map(({ text }) => text)).toEqual([expected[0]?.text, expected[2]?.text]);
      expect(idsOf(batches.filter(isDecode))).toContainEqual([0, 1, 2]);
      const { text, tokens } = await generate(idle.sequence, next(idle));
      expect(text).toBe(expected[1]?.text);
      expect(tokens.reused).toBeGreaterThan(tokens.prompt / 2);
    });
  });

  it('have it also of one that has room for one token only', async () => {
    await withBatches({ slots: 3, contextSize: 256 }, async (model, batches) => {
      const [first, idle, last] = await speakers(model, 3);
      if (!first || !idle || !last) throw new Error('three have spoken');
      const story = userPrompt(longText(21));
      const full = await generate(idle.sequence, story, { sampling: { max_tokens: 256 } });
      expect(full.tokens.prompt + full.tokens.generated).toBe(256);
      batches.length = 0;
      await Promise.all([first, last].map((speaker) => generate(speaker.sequence, next(speaker))));
      expect(idsOf(batches.filter(isDecode))).toContainEqual([0, 1, 2]);
      const again = await generate(idle.sequence, story, { sampling: { max_tokens: 256 } });
      expect(again.text).toBe(full.text);
    });
  });

  it('have none of one with a long cache, which it would take long to read', async () => {
    await withBatches({ slots: 3, contextSize: 2048 }, async (model, batches) => {
      const [first, idle, last] = await speakers(model, 3);
      if (!first || !idle || !last) throw new Error('three have spoken');
      const alone = { ...aside, sampling: { max_tokens: 1 } };
      const { tokens } = await generate(idle.sequence, userPrompt(longText(130)), alone);
      expect(tokens.prompt).toBeGreaterThan(1024);
      batches.length = 0;
      await Promise.all([first, last].map((speaker) => generate(speaker.sequence, next(speaker))));
      expect(idsOf(batches.filter(isDecode))).toContainEqual([0, 2]);
      expect(idsOf(batches).flat()).not.toContain(1);
    });
  });

  it('have no such token of a model that could not forget it', async () => {
    await withBatches({ slots: 3, file: fileOf('recurrent') }, async (model, batches) => {
      const [first, , last] = await speakers(model, 3);
      if (!first || !last) throw new Error('three have spoken');
      batches.length = 0;
      await Promise.all([first, last].map((speaker) => generate(speaker.sequence, next(speaker))));
      expect(idsOf(batches.filter(isDecode))).toContainEqual([0, 2]);
      expect(idsOf(batches).flat()).not.toContain(1);
    });
  });
});
