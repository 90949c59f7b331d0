import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlamaModel } from 'node-llama-cpp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Prompt } from '../../src/chat/dialog.ts';
import type { LoadOptions, Model, Sequence } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { BatchTimer } from '../../src/inference/llama/batching/batchTimer.ts';
import { totalMemory, type MemoryUse, type ModelStats } from '../../src/inference/contract/memory.ts';
import { generate, longText, neverAborted, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { shortenTimers } from '../helpers/shortTimers.ts';
import { demoFile } from './demo.ts';
import { useProcessEngine } from './processEngineRig.ts';

const load = { contextSize: 512, slots: 0, threads: 1, gpu: 'off' } as const;
const sampling = { max_tokens: 8 };

/** Tells of a model that may have more slots, and decides about its memory. */
class Resizing {
  readonly requested: MemoryUse[] = [];
  readonly resized: ModelStats[] = [];
  readonly requestMemory: (use: MemoryUse) => Promise<boolean>;
  readonly onResized = (stats: ModelStats): void => void this.resized.push(stats);

  constructor(grant: () => boolean | Promise<boolean> = () => true) {
    this.requestMemory = async (use) => {
      this.requested.push(use);
      return grant();
    };
  }
}

/** An agent with a dialog: each turn continues the one before. */
class Talker {
  readonly texts: string[] = [];
  readonly #sequence: Sequence;
  #prompt: Prompt;

  constructor(model: Model, name: string) {
    this.#sequence = model.openSequence();
    this.#prompt = userPrompt(`I am ${name}. ${longText(2)}`, `You are the lamp of ${name}.`);
  }

  async speak(signal = neverAborted): Promise<string> {
    const { text, finishReason } = await generate(this.#sequence, this.#prompt, { sampling, signal });
    this.texts.push(text);
    this.#prompt = nextPrompt(this.#prompt, text, 'And then?');
    return finishReason;
  }

  async close(): Promise<void> {
    await this.#sequence[Symbol.asyncDispose]();
  }
}

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `agent ${index}`);
const crowd = (model: Model, count: number): readonly Talker[] => names(count).map((name) => new Talker(model, name));
const speakAtOnce = (talkers: readonly Talker[]): Promise<unknown> =>
  Promise.all(talkers.map((talker) => talker.speak()));

/** As many agents as it takes to be served in three rounds by four slots: so many wait that there are more slots then. */
const largeCrowd = 12;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeRandomModel(join(folder, 'hybrid.gguf'), { ...shapes.tiny, weights: 'F32', layers: 3, kernel: 3 });
  await writeRandomModel(join(folder, 'window.gguf'), { ...shapes.tiny, weights: 'F32', window: 128 });
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

async function withModel<T>(
  options: Partial<LoadOptions>,
  work: (model: Model) => Promise<T>,
  file = demoFile,
): Promise<T> {
  await using engine = llamaEngine({ folder: join(folder, 'cache'), maxStateBytes: 500e6 });
  return await work(await engine.load(file, { ...load, ...options }));
}

/** The texts of agents that speak one after the other, each in a slot of its own. */
const textsAlone = (count: number, turns: number, file?: string): Promise<readonly (readonly string[])[]> =>
  withModel(
    { slots: 1 },
    async (model) => {
      const texts: (readonly string[])[] = [];
      for (const talker of crowd(model, count)) {
        for (let turn = 0; turn < turns; turn++) await talker.speak();
        texts.push(talker.texts);
        await talker.close();
      }
      return texts;
    },
    file,
  );

describe('a model whose number of slots is not fixed', () => {
  it('begins with four, has eight when six agents speak at once again and again, and answers as each does alone', async () => {
    const turns = 7;
    const expected = await textsAlone(6, turns);
    const resizing = new Resizing();
    await withModel({ resizing }, async (model) => {
      const before = model.stats();
      expect(before.slots).toBe(4);
      const talkers = crowd(model, 6);
      for (let turn = 0; turn < turns; turn++) await speakAtOnce(talkers);
      const after = model.stats();
      expect(after.slots).toBe(8);
      expect(talkers.map(({ texts }) => texts)).toEqual(expected);
      expect(resizing.requested[0]).toEqual(totalMemory(after.memory));
      expect(after.memory.context.ram).toBeGreaterThan(before.memory.context.ram + 3 * before.memory.slot.ram);
      expect(resizing.resized.map(({ slots }) => slots)).toEqual([8]);
      expect(after.statesRestored).toBeGreaterThan(0);
    });
  });

  it.each(['hybrid', 'window'])('answers as before with the cache of a %s model', async (name) => {
    const file = join(folder, `${name}.gguf`);
    const expected = await textsAlone(largeCrowd, 2, file);
    const resizing = new Resizing();
    await withModel(
      { resizing },
      async (model) => {
        const talkers = crowd(model, largeCrowd);
        await speakAtOnce(talkers);
        await speakAtOnce(talkers);
        expect(model.stats().slots).toBeGreaterThanOrEqual(8);
        expect(talkers.map(({ texts }) => texts)).toEqual(expected);
      },
      file,
    );
  });

  it.each([
    ['the limits leave no memory for more', () => new Resizing(() => false), 4],
    ['it is fixed', () => undefined, 4],
  ])('keeps it where %s', async (_, create, slots) => {
    const resizing = create();
    await withModel({ resizing }, async (model) => {
      await speakAtOnce(crowd(model, largeCrowd));
      await speakAtOnce(crowd(model, largeCrowd));
      expect(model.stats().slots).toBe(slots);
      // It is not asked for again and again.
      expect(resizing?.requested.length ?? 1).toBe(1);
      expect(resizing?.resized ?? []).toEqual([]);
    });
  });

  it('keeps it, and loses nothing, when the larger context cannot be made', async () => {
    const expected = await textsAlone(largeCrowd, 2);
    const { createContext } = LlamaModel.prototype;
    const resizing = new Resizing();
    const spy = vi.spyOn(LlamaModel.prototype, 'createContext').mockImplementation(function (
      this: LlamaModel,
      options = {},
    ) {
      if (options.sequences === 8) return Promise.reject(new Error('no memory'));
      return createContext.call(this, options);
    });
    await withModel({ resizing }, async (model) => {
      const talkers = crowd(model, largeCrowd);
      await speakAtOnce(talkers);
      await speakAtOnce(talkers);
      expect(model.stats().slots).toBe(4);
      expect(talkers.map(({ texts }) => texts)).toEqual(expected);
      expect(resizing.requested[1]).toEqual(totalMemory(model.stats().memory));
      expect(spy.mock.calls.map(([options]) => options?.sequences)).toEqual([4, 8, 4]);
    });
  });

  it('has its first number again when no agent has spoken for long', async () => {
    const resizing = new Resizing();
    await withModel({ resizing }, async (model) => {
      // The library has such a timer, too, while it is loaded.
      shortenTimers(5 * 60_000);
      const first = model.stats();
      await speakAtOnce(crowd(model, largeCrowd));
      await vi.waitFor(() => expect(resizing.resized.at(-1)?.slots).toBe(4), 60_000);
      expect(resizing.resized[0]?.slots).toBe(8);
      expect(model.stats()).toMatchObject({ slots: 4, memory: first.memory });
      expect(resizing.requested.at(-1)).toEqual(totalMemory(first.memory));
    });
  });

  it('gives slots back when it is asked to, between two tokens of a turn', async () => {
    const expected = await textsAlone(1, 2);
    const resizing = new Resizing();
    await withModel({ resizing }, async (model) => {
      const [first = new Talker(model, ''), ...others] = crowd(model, largeCrowd);
      await speakAtOnce([first, ...others]);
      expect(model.stats().slots).toBe(8);
      const speaking = first.speak();
      await model.shrink?.();
      expect(model.stats().slots).toBe(4);
      await speaking;
      expect(first.texts).toEqual(expected[0]);
    });
  });

  it('ends a turn that is cancelled meanwhile, and all turns when it is unloaded', async () => {
    let grow = (): void => {};
    const asked = new Promise<void>((resolve) => (grow = resolve));
    let grant: (isGranted: boolean) => void = () => {};
    const resizing = new Resizing(() => {
      grow();
      return new Promise<boolean>((resolve) => (grant = resolve));
    });
    await withModel({ resizing }, async (model) => {
      const cancel = new AbortController();
      const last = new Talker(model, 'the last');
      const turns = crowd(model, largeCrowd).map((talker) => talker.speak());
      const cancelled = last.speak(cancel.signal);
      await asked;
      grant(true);
      cancel.abort();
      const closing = model[Symbol.asyncDispose]();
      expect(await cancelled).toBe('aborted');
      expect(await Promise.all(turns)).toContain('aborted');
      await closing;
    });
    expect(await readdir(join(folder, 'cache', 'states'))).toEqual([]);
  });
});

describe('a model in an engine process', () => {
  const rig = useProcessEngine();

  it('has more slots on demand, and begins anew when its process is killed meanwhile', async () => {
    const cache = { folder: join(rig.folder, 'cache'), maxStateBytes: 500e6 };
    let isKilled = false;
    const resizing = new Resizing(() => {
      if (!isKilled) process.kill(rig.lastPid(), 'SIGKILL');
      isKilled = true;
      return true;
    });
    rig.engine = rig.open({ cache });
    const model = await rig.engine.load(demoFile, { ...load, resizing });
    const first = totalMemory(model.stats().memory);
    const turns = await Promise.allSettled(crowd(model, largeCrowd).map((talker) => talker.speak()));
    expect(turns.some((turn) => turn.status === 'rejected')).toBe(true);
    await speakAtOnce(crowd(model, 2));
    // The server is told what the new process takes.
    expect(resizing.requested[1]).toEqual(first);
    expect(model.stats().slots).toBe(4);
    await speakAtOnce(crowd(model, largeCrowd));
    expect(resizing.resized.map(({ slots }) => slots)).toEqual([8]);
    expect(model.stats().slots).toBe(8);
  });
});
