import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaContextSequence, LlamaLogLevel, type Llama, type LlamaModel, type Token } from 'node-llama-cpp';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import { BatchTimer } from '../../src/inference/llama/batching/batchTimer.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { reusePrefix } from '../../src/inference/llama/kvCache/prefixReuse.ts';
import { StateSwap } from '../../src/inference/llama/kvCache/stateSwap.ts';
import { generate, longText, neverAborted as signal, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { writeRecurrentModel } from './recurrentFile.ts';

const load = { contextSize: 2048, slots: 1, threads: 1, gpu: 'off' } as const;
const answers = ['order', 'chat now', 'chat', 'leave'];

let folder = '';
const fileOf = (name: string): string => join(folder, `${name}.gguf`);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeRecurrentModel(fileOf('recurrent'));
  await writeRandomModel(fileOf('window'), { ...shapes.tiny, weights: 'F32', window: 128 });
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

describe.each([
  ['recurrent', 'a recurrent state'],
  ['window', 'a sliding window'],
])('a model with %s', (name) => {
  it('evaluates a prompt once for all answers, and scores each as it does alone', async () => {
    await using engine = llamaEngine();
    const model = await engine.load(fileOf(name), load);
    const sequence = model.openSequence();
    // Longer than the window and than two prefill chunks.
    const prompt = (text: string) => userPrompt(text, longText(25));
    const other = model.openSequence();
    const alone: number[] = [];
    for (const answer of answers) {
      await other.score(userPrompt('something else'), ['b'], { signal });
      alone.push(...(await sequence.score(prompt('Which?'), [answer], { signal })).scores);
    }
    await other.score(userPrompt('something else'), ['b'], { signal });
    const prefills = vi.spyOn(LlamaContextSequence.prototype, 'evaluateWithoutGeneratingNewTokens');
    const evaluations = vi.spyOn(LlamaContextSequence.prototype, 'controlledEvaluate');
    const { scores, tokens } = await sequence.score(prompt('Which?'), answers, { signal });
    const evaluated = [...prefills.mock.calls, ...evaluations.mock.calls].reduce(
      (sum, [input]) => sum + input.length,
      0,
    );
    const [answerTokens = 0] = await model.count([answers.join('')]);
    expect(evaluated).toBeLessThanOrEqual(tokens.prompt + answerTokens + answers.length);
    for (const [index, score] of scores.entries()) expect(score).toBeCloseTo(alone[index] ?? NaN, 1);
  });

  it('generates after a scoring what it generates in a new sequence', async () => {
    await using engine = llamaEngine();
    const model = await engine.load(fileOf(name), load);
    const first = userPrompt('Which?', longText(10));
    const prompts = [first, userPrompt('Who?', longText(10)), nextPrompt(first, 'order', 'And then?'), first];
    const sequence = model.openSequence();
    const fresh: string[] = [];
    for (const prompt of prompts) {
      await using alone = model.openSequence();
      fresh.push((await generate(alone, prompt)).text);
    }
    for (const [index, prompt] of prompts.entries()) {
      await sequence.score(first, answers, { signal });
      expect((await generate(sequence, prompt)).text).toBe(fresh[index]);
    }
  });
});

describe('the cache of a recurrent model', () => {
  let llama: Llama;
  let weights: LlamaModel;
  beforeAll(async () => {
    llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
    weights = await llama.loadModel({ modelPath: fileOf('recurrent') });
  });
  afterAll(() => llama.dispose());

  const tokens = Array.from({ length: 60 }, (_, index) => (10 + index) as Token);
  const openCache = async (): Promise<LlamaContextSequence> =>
    (await weights.createContext({ contextSize: 256, batchSize: 64, threads: 1 })).getSequence();

  it('resumes at its checkpoint, and keeps nothing of a prompt that differs before it', async () => {
    const cache = await openCache();
    await cache.evaluateWithoutGeneratingNewTokens(tokens.slice(0, 40));
    await cache.takeCheckpoint();
    await cache.evaluateWithoutGeneratingNewTokens(tokens.slice(40));
    const before = cache.tokenMeter.usedInputTokens;
    expect(await reusePrefix(cache, [...tokens.slice(0, 50), 200 as Token])).toBe(40);
    expect(await reusePrefix(cache, tokens)).toBe(40);
    expect(await reusePrefix(cache, [...tokens.slice(0, 39), 200 as Token])).toBe(0);
    await cache.evaluateWithoutGeneratingNewTokens(tokens);
    // The checkpoint is gone with its tokens.
    expect(await reusePrefix(cache, [...tokens.slice(0, 50), 200 as Token])).toBe(0);
    expect(cache.tokenMeter.usedInputTokens - before).toBe(tokens.length);
  });

  it('has no checkpoint of other tokens after a state is swapped in', async () => {
    const cache = await openCache();
    const timer = new BatchTimer(() => undefined);
    timer.prefillMsPerToken.add(1_000_000);
    const file = { path: join(folder, 'state'), commit() {}, beginRead() {}, async drop() {} };
    const swap = new StateSwap({ reserve: async () => file, writeFailed() {} }, timer, 1);
    const owner = {};
    await cache.evaluateWithoutGeneratingNewTokens(tokens);
    await swap.swapOut(owner, cache);
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(tokens.toReversed().slice(0, 40));
    await cache.takeCheckpoint();
    await swap.swapIn(owner, cache, tokens);
    expect(swap.stats().statesRestored).toBe(1);
    expect(cache.contextTokens).toEqual(tokens);
    expect(await reusePrefix(cache, [...tokens.slice(0, 50), 200 as Token])).toBe(0);
  });
});
