import { setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import type { Prompt } from '../../src/chat/dialog.ts';
import {
  gpuChoices,
  type Completion,
  type Engine,
  type LoadOptions,
  type GenerateOptions,
  type Model,
  type Sequence,
} from '../../src/inference/contract/engine.ts';
import type { SamplingParams } from '../../src/inference/contract/samplingParams.ts';

/** An engine under test and what the suite needs to use it. */
export interface EngineUnderTest {
  readonly name: string;
  readonly open: () => Engine;
  readonly file: string;
  /** A user message whose answer is long (more than 20 tokens) and slow enough to be cancelled. */
  readonly long: string;
  /** How often concurrent sequences answer while their tokens must not mix; default 10. */
  readonly rounds?: number;
}

/** The bundled model, for the engines of llama.cpp. */
export const demo = {
  file: fileURLToPath(new URL('../../models/turngraph-demo.gguf', import.meta.url)),
  long: 'Tell me a long story about the sea, the wind and the old house.',
};

/** What models run on: the CPU, or what `TURNGRAPH_TEST_GPU` names. */
export const gpu = gpuChoices.find((choice) => choice === process.env['TURNGRAPH_TEST_GPU']) ?? 'off';

export const greedy: SamplingParams = {
  temperature: 0,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  repeat_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  max_tokens_per_second: 0,
  speculate: 'off',
  max_tokens: 40,
  seed: 1,
  stop: [],
  dry: { multiplier: 0, base: 1.75, allowed_length: 2, penalty_last_n: 64, sequence_breakers: ['\n'] },
  xtc: { probability: 0, threshold: 0.1 },
  logit_bias: {},
};

export const neverAborted = new AbortController().signal;
// Many generations share it; Node warns of a leak above ten listeners.
setMaxListeners(0, neverAborted);

export const userPrompt = (text: string, system = 'You are a lamp.'): Prompt => ({
  messages: [
    { role: 'system', text: system },
    { role: 'user', text },
  ],
});

export const nextPrompt = (prompt: Prompt, answer: string, text: string): Prompt => ({
  ...prompt,
  messages: [...prompt.messages, { role: 'assistant', text: answer }, { role: 'user', text }],
});

/** Runs a generation with default options. Returns its completion and the pieces of its text. */
export async function generate(
  sequence: Sequence,
  prompt: Prompt,
  options: Partial<Omit<GenerateOptions, 'sampling'>> & { readonly sampling?: Partial<SamplingParams> } = {},
): Promise<Completion & { readonly pieces: readonly string[] }> {
  const pieces: string[] = [];
  const completion = await sequence.generate(prompt, {
    signal: neverAborted,
    ...options,
    sampling: { ...greedy, ...options.sampling },
    onText: (piece) => {
      pieces.push(piece);
      options.onText?.(piece);
    },
  });
  return { ...completion, pieces };
}

/** A text of any length. */
export const longText = (count: number): string => 'The lamp stands in the hall and shines. '.repeat(count);

/** An engine and a model that it has loaded. */
export interface LoadedModel {
  readonly engine: Engine;
  readonly model: Model;
}

/** Loads a model before the tests of a suite, and disposes of its engine after them. Read it in tests only. */
export function useModel(
  { open, file }: Pick<EngineUnderTest, 'open' | 'file'>,
  options: Partial<LoadOptions> = {},
): LoadedModel {
  let engine: Engine;
  let model: Model;
  beforeAll(async () => {
    engine = open();
    model = await engine.load(file, { contextSize: 1024, slots: 2, threads: 1, gpu, ...options });
  });
  afterAll(() => engine[Symbol.asyncDispose]());
  return {
    get engine() {
      return engine;
    },
    get model() {
      return model;
    },
  };
}

/** An engine of its own with a model of one slot and a short context, loaded when a test first needs it. */
export class NarrowModel {
  readonly #subject: EngineUnderTest;
  #loaded: Promise<LoadedModel> | undefined;

  constructor(subject: EngineUnderTest) {
    this.#subject = subject;
  }

  get = (): Promise<LoadedModel> => (this.#loaded ??= this.#load());

  async [Symbol.asyncDispose](): Promise<void> {
    const loaded = await this.#loaded;
    this.#loaded = undefined;
    await loaded?.engine[Symbol.asyncDispose]();
  }

  async #load(): Promise<LoadedModel> {
    const engine = this.#subject.open();
    return { engine, model: await engine.load(this.#subject.file, { contextSize: 64, slots: 1, threads: 1, gpu }) };
  }
}
