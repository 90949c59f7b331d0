import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaContextSequence, LlamaLogLevel, type Token } from 'node-llama-cpp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Message, Prompt, ToolBlock } from '../../src/chat/dialog.ts';
import type { Engine, Model, Sequence } from '../../src/inference/contract/engine.ts';
import { BatchTimer } from '../../src/inference/llama/batching/batchTimer.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import {
  checkpointsOf,
  limitCheckpoints,
  openCache,
  takeCheckpoint,
} from '../../src/inference/llama/kvCache/checkpoints.ts';
import { reusePrefix } from '../../src/inference/llama/kvCache/prefixReuse.ts';
import { generate, longText, neverAborted as signal } from '../contracts/generation.ts';
import { writeRecurrentModel } from './recurrentFile.ts';

const load = { contextSize: 2048, slots: 1, threads: 1, gpu: 'off' } as const;

let folder = '';
const fileOf = (name: string): string => join(folder, `${name}.gguf`);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeRecurrentModel(fileOf('recurrent'));
  // Of tokens of one byte each, a text has always the same.
  const random = { ...shapes.tiny, words: 259, heads: 1, kvHeads: 1, weights: 'F32' } as const;
  await writeRandomModel(fileOf('hybrid'), { ...random, layers: 3, kernel: 3 });
  await writeRandomModel(fileOf('window'), { ...random, window: 128 });
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

const user = (text: string): Message => ({ role: 'user', text });
const assistant = (text: string): Message => ({ role: 'assistant', text });
const system: Message = { role: 'system', text: longText(6) };
const questions = ['How are you?', 'Tell me of the sea.', 'And then?', 'Who was there?', 'Good night to you.'];
const answer = 'The keeper was there, and the lamp shone over the sea.';
const toolsAt = (place: ToolBlock['place']): ToolBlock => ({
  format: 'generic',
  definitions: [],
  place,
  text: 'You can call set_lamp(name, on). ',
});

describe('the checkpoints of a cache', () => {
  it('fit in the memory that they may take: first the one of the interaction goes, at last the one of the head', async () => {
    const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
    const weights = await llama.loadModel({ modelPath: fileOf('hybrid') });
    const context = await weights.createContext({ contextSize: 256, sequences: 4, threads: 1 });
    const kindsWith = async (states?: number): Promise<readonly (string | undefined)[]> => {
      const cache = openCache(context);
      for (let turn = 0; turn < 3; turn++) {
        await reusePrefix(cache, turn === 0 ? [] : cache.contextTokens.slice(0, 20));
        for (const kind of ['head', 'interaction', 'message'] as const) {
          await cache.evaluateWithoutGeneratingNewTokens(
            Array.from({ length: 20 }, (_, index) => index + 10) as Token[],
          );
          await takeCheckpoint(cache, kind, {}, states && states * stateBytes);
        }
      }
      const kinds = checkpointsOf(cache).map(({ kind }) => kind);
      await cache.dispose();
      return kinds;
    };
    const cache = openCache(context);
    await cache.evaluateWithoutGeneratingNewTokens([10, 11, 12] as Token[]);
    await takeCheckpoint(cache, 'head');
    const stateBytes = checkpointsOf(cache)[0]?.bytes ?? NaN;
    await cache.dispose();
    expect(await kindsWith(4)).toEqual(['head', 'interaction', 'message']);
    expect(await kindsWith(2.5)).toEqual(['head', 'message']);
    expect(await kindsWith(1.5)).toEqual(['head']);
    expect(await kindsWith(0.5)).toEqual([]);
    limitCheckpoints(context, 4 * 1.5 * stateBytes);
    expect(await kindsWith()).toEqual(['head']);
    expect(limitCheckpoints(context, Infinity)).toBeLessThan(1e9);
    expect(await kindsWith()).toEqual(['head', 'interaction', 'message']);
    await llama.dispose();
  });
});

describe.each(['recurrent', 'hybrid', 'window'])('a %s model', (name) => {
  let engine: Engine;
  let model: Model;
  beforeEach(async () => {
    engine = llamaEngine({ folder, maxStateBytes: 1e9 });
    model = await engine.load(fileOf(name), load);
  });
  afterEach(() => engine[Symbol.asyncDispose]());

  /** The tokens of messages in a prompt, with the end of a reply before them and the start of the next one. */
  const countTokens = async (...messages: readonly Message[]): Promise<number> => {
    const { prompt, message } = model.overhead;
    const counts = await model.count(messages.map(({ text }) => text));
    return counts.reduce((sum, count) => sum + count + message, prompt + message);
  };

  /** Generates, and counts the tokens of the prompt that llama.cpp really evaluates. */
  async function evaluate(
    sequence: Sequence,
    prompt: Prompt,
    max_tokens = 12,
  ): Promise<{ readonly text: string; readonly evaluated: number }> {
    const prefills = vi.spyOn(LlamaContextSequence.prototype, 'evaluateWithoutGeneratingNewTokens');
    const decodes = vi.spyOn(LlamaContextSequence.prototype, 'evaluate');
    const { text, tokens } = await generate(sequence, prompt, { sampling: { max_tokens } });
    const evaluated = [...prefills.mock.calls, ...decodes.mock.calls].reduce((sum, [input]) => sum + input.length, 0);
    expect(evaluated).toBe(tokens.prompt - tokens.reused);
    vi.restoreAllMocks();
    return { text, evaluated };
  }

  async function textOfFresh(prompt: Prompt, max_tokens?: number): Promise<string> {
    await using sequence = model.openSequence();
    return (await evaluate(sequence, prompt, max_tokens)).text;
  }

  it('evaluates the new message in each turn whose answers stay in the dialog', async () => {
    const messages: Message[] = [system];
    const turns: { readonly prompt: Prompt; readonly text: string }[] = [];
    const sequence = model.openSequence();
    for (const [index, question] of questions.entries()) {
      messages.push(user(question));
      const prompt = { messages: [...messages] };
      const { text, evaluated } = await evaluate(sequence, prompt);
      if (index > 0) expect(evaluated).toBeLessThanOrEqual(await countTokens(user(question)));
      turns.push({ prompt, text });
      messages.push(assistant(text));
    }
    await sequence[Symbol.asyncDispose]();
    expect(model.stats().checkpointBytes).toBeGreaterThan(0);
    for (const { prompt, text } of turns) expect(await textOfFresh(prompt)).toBe(text);
  });

  it.each([
    ['system', [user('x'), assistant(answer)]],
    ['first-user', [user('x'), assistant(answer)]],
    ['last-user', [user(questions.join(' ')), assistant(answer)]],
  ] as const)('evaluates at most one interaction more, with tools at %s', async (place, interaction) => {
    const tools = toolsAt(place);
    const messages: Message[] = [system];
    const sequence = model.openSequence();
    const turns: { readonly prompt: Prompt; readonly text: string }[] = [];
    for (const [index, question] of questions.entries()) {
      messages.push(user(question));
      const prompt = { messages: [...messages], tools };
      const { text, evaluated } = await evaluate(sequence, prompt);
      const added = place === 'last-user' ? await countTokens(user(tools.text)) : 0;
      if (index > 0) expect(evaluated).toBeLessThanOrEqual(added + (await countTokens(...interaction, user(question))));
      turns.push({ prompt, text });
      // The call is not in the dialog.
      messages.push(assistant(answer));
    }
    await sequence[Symbol.asyncDispose]();
    for (const { prompt, text } of turns) expect(await textOfFresh(prompt)).toBe(text);
  });

  it('evaluates only the new message after one that left nothing in the dialog', async () => {
    const sequence = model.openSequence();
    const before = [system, user(longText(3)), assistant(answer)];
    for (const question of questions) {
      const prompt = { messages: [...before, user(question)], tools: toolsAt('system') };
      const { text, evaluated } = await evaluate(sequence, prompt);
      if (question !== questions[0]) expect(evaluated).toBeLessThanOrEqual(await countTokens(user(question)));
      expect(text).not.toBe('');
    }
    const prompt = { messages: [...before, user('Well?')], tools: toolsAt('system') };
    const { text } = await evaluate(sequence, prompt);
    await sequence[Symbol.asyncDispose]();
    expect(await textOfFresh(prompt)).toBe(text);
  });

  it('evaluates a turn in one batch, and one answer more if the message before did not stay', async () => {
    const sequence = model.openSequence();
    const tools = toolsAt('system');
    const messages: Message[] = [system];
    for (const [index, question] of questions.entries()) {
      const prefills = vi.spyOn(LlamaContextSequence.prototype, 'evaluateWithoutGeneratingNewTokens');
      await generate(sequence, { messages: [...messages, user(question)], tools }, { sampling: { max_tokens: 12 } });
      // What is left of a prompt is evaluated with its last token.
      if (index > 1) expect(prefills).not.toHaveBeenCalled();
      vi.restoreAllMocks();
      messages.push(user(question), assistant(answer));
    }
    const prompt = { messages: [...messages.slice(0, -2), user('Well?')], tools };
    const { text, evaluated } = await evaluate(sequence, prompt);
    expect(evaluated).toBeLessThanOrEqual(await countTokens(assistant(answer), user('Well?')));
    await sequence[Symbol.asyncDispose]();
    expect(await textOfFresh(prompt)).toBe(text);
  });

  it('keeps the end of the dialog while a turn is scored several times', async () => {
    const sequence = model.openSequence();
    const conditions = [
      'Is it?',
      'Is it day by now, or night?',
      'Is it day by now, or is it noon?',
      'Is it day by now?',
    ];
    const first: number[] = [];
    const messages = ['The sun is up.', 'A lamp was lit.', 'Who is there?'].map(
      (text) => `Message: ${text} ${longText(2)}`,
    );
    for (const message of messages) {
      for (const condition of conditions) {
        const prompt = { messages: [system, user(longText(5)), assistant(answer), user(`${message} ${condition}`)] };
        const { tokens } = await sequence.score(prompt, ['yes', 'no'], { signal });
        if (condition === conditions[0]) first.push(tokens.prompt - tokens.reused);
      }
    }
    const allowed = await countTokens(user(`${messages[0]} ${conditions[0]}`));
    expect(Math.max(...first.slice(1))).toBeLessThanOrEqual(allowed + 3);
    await sequence[Symbol.asyncDispose]();
  });

  it('keeps the head when the dialog is truncated', async () => {
    const sequence = model.openSequence();
    const dialog = Array.from({ length: 6 }, (_, index) => [user(`${index} ${longText(4)}`), assistant(answer)]);
    const promptOf = (from: number): Prompt => ({ messages: [system, ...dialog.slice(from).flat(), user('Well?')] });
    await sequence.prefill({ messages: [system, user('')] }, signal);
    await evaluate(sequence, promptOf(0));
    await evaluate(sequence, { messages: [...promptOf(0).messages, assistant(answer), user('And?')] });
    const { text, evaluated } = await evaluate(sequence, promptOf(3));
    expect(evaluated).toBeLessThanOrEqual(await countTokens(...promptOf(3).messages.slice(1)));
    await sequence[Symbol.asyncDispose]();
    expect(await textOfFresh(promptOf(3))).toBe(text);
  });

  // One model has all lengths: a checkpoint is taken at the same positions in each.
  it.each(name === 'hybrid' ? [100, 250, 300, 350, 400, 500, 700] : [100, 350, 700])(
    'resumes before a reply of %i tokens',
    async (length) => {
      const sequence = model.openSequence();
      const before = [system, user(longText(5))];
      await evaluate(sequence, { messages: before }, length);
      const prompt = { messages: [...before, assistant(answer), user('Well?')] };
      const { text, evaluated } = await evaluate(sequence, prompt);
      expect(evaluated).toBeLessThanOrEqual(await countTokens(assistant(answer), user('Well?')));
      await sequence[Symbol.asyncDispose]();
      expect(await textOfFresh(prompt)).toBe(text);
    },
  );

  it('continues where it was when its slot was taken, and never where another sequence was', async () => {
    vi.spyOn(BatchTimer.prototype, 'end').mockImplementation(function (this: BatchTimer) {
      this.prefillMsPerToken.add(60_000);
    });
    const tools = toolsAt('system');
    const promptOf = (name: string, turns: number): Prompt => ({
      messages: [
        { role: 'system', text: `You are ${name}. ${longText(6)}` },
        ...questions.slice(0, turns).flatMap((question) => [user(`${question} ${name}!`), assistant(answer)]),
        user(`Well, ${name}?`),
      ],
      tools,
    });
    const cast = ['Ann', 'Bob', 'Cid'].map((character) => ({ character, sequence: model.openSequence() }));
    const turns: { readonly prompt: Prompt; readonly text: string }[] = [];
    for (let turn = 0; turn < 3; turn++) {
      for (const { character, sequence } of cast) {
        const prompt = promptOf(character, turn);
        const { text, tokens } = await generate(sequence, prompt, { sampling: { max_tokens: 12 } });
        const interaction = [user(`${questions[1]} ${character}!`), assistant(answer), user('Well?')];
        if (turn > 1) expect(tokens.prompt - tokens.reused).toBeLessThanOrEqual(await countTokens(...interaction));
        turns.push({ prompt, text });
      }
    }
    expect(model.stats().statesRestored).toBeGreaterThan(0);
    for (const { sequence } of cast) await sequence[Symbol.asyncDispose]();
    for (const { prompt, text } of turns) expect(await textOfFresh(prompt)).toBe(text);
  });

  it('evaluates what prompts share twice, not for each of them, when it scores', async () => {
    const sequence = model.openSequence();
    const promptOf = (condition: string): Prompt => ({
      messages: [system, user(`Message: ${longText(10)}\nCondition: ${condition}`)],
    });
    const conditions = ['Is it day?', 'Was it night?', 'Do they sing?', 'Can he swim?', 'Are we late?'];
    const scored: { readonly condition: string; readonly scores: readonly number[] }[] = [];
    let reevaluated = 0;
    for (const [index, condition] of conditions.entries()) {
      const { scores, tokens } = await sequence.score(promptOf(condition), ['yes', 'no'], { signal });
      if (index > 1) reevaluated = Math.max(reevaluated, tokens.prompt - tokens.reused);
      scored.push({ condition, scores });
    }
    expect(reevaluated).toBeLessThanOrEqual(await countTokens(user(conditions[1] ?? '')));
    await sequence[Symbol.asyncDispose]();
    for (const { condition, scores } of scored) {
      await using fresh = model.openSequence();
      const alone = await fresh.score(promptOf(condition), ['yes', 'no'], { signal });
      for (const [index, score] of scores.entries()) expect(score).toBeCloseTo(alone.scores[index] ?? NaN, 1);
    }
  });
});
