import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop, setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { getLlama, LlamaLogLevel, type Llama, type LlamaContextSequence, type Token } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import type { Prompt } from '../../src/chat/dialog.ts';
import { reusePrefix } from '../../src/inference/llama/kvCache/prefixReuse.ts';
import { correctWindowStart } from '../../src/inference/llama/nativePatches.ts';
import { userPrompt, nextPrompt, neverAborted, generate } from '../contracts/generation.ts';
import { contextSize, openDemo, type Demo } from './demo.ts';

describe('a KV cache', () => {
  let demo: Demo;
  let cache: LlamaContextSequence;
  beforeAll(async () => {
    demo = await openDemo();
    cache = (await demo.weights.createContext({ contextSize, threads: 1 })).getSequence();
  });
  afterAll(() => demo.close());

  const tokens = (text: string): Token[] => demo.weights.tokenize(text, true);

  it('keeps nothing after the first changed token, even if later tokens are the same', async () => {
    const [before, after] = [tokens('one two three four five six'), tokens('one two nine four five six')];
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(before);
    const kept = await reusePrefix(cache, after);
    expect(kept).toBe(after.findIndex((token, index) => token !== before[index]));
    expect(cache.contextTokens).toEqual(before.slice(0, kept));
  });

  it('keeps no tail when the prompt is a strict prefix of the cached tokens', async () => {
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(tokens('one two three four five six'));
    expect(await reusePrefix(cache, tokens('one two three'))).toBe(tokens('one two three').length);
    expect(cache.contextTokens).toEqual(tokens('one two three'));
  });
});

describe('a KV cache with a sliding window', () => {
  const window = 128;
  let folder: string;
  let llama: Llama;
  let cache: LlamaContextSequence;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-window-'));
    const file = join(folder, 'window.gguf');
    await writeRandomModel(file, { ...shapes.tiny, weights: 'F32', window });
    llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
    const weights = await llama.loadModel({ modelPath: file });
    const context = await weights.createContext({ contextSize, batchSize: 256, threads: 1 });
    correctWindowStart(context);
    cache = context.getSequence();
  });
  afterAll(async () => {
    await llama.dispose();
    await rm(folder, { recursive: true });
  });

  const prefilled = Array.from({ length: 1000 }, (_, index) => (300 + ((index * 37) % 1500)) as Token);
  const sharingPrefix = (count: number): Token[] => [...prefilled.slice(0, count), 2000 as Token];

  /** Tokens that reusePrefix keeps, and tokens that it evaluates itself, which cannot be aborted. */
  async function measureReuse(tokens: Token[]): Promise<{ kept: number; evaluated: number }> {
    await reusePrefix(cache, []);
    await cache.evaluateWithoutGeneratingNewTokens(prefilled);
    const before = cache.tokenMeter.usedInputTokens;
    const kept = await reusePrefix(cache, tokens);
    return { kept, evaluated: cache.tokenMeter.usedInputTokens - before };
  }

  it('keeps the common prefix while the window before it is cached', async () => {
    expect(await measureReuse(sharingPrefix(990))).toEqual({ kept: 990, evaluated: 0 });
    const start = cache.stateCellsStartIndex;
    expect(start).toBeGreaterThan(window);
    expect(await measureReuse(sharingPrefix(start + 1))).toEqual({ kept: start + 1, evaluated: 0 });
  });

  it('keeps nothing when a part of the window is no longer cached, and evaluates nothing', async () => {
    const start = cache.stateCellsStartIndex;
    expect(await measureReuse(sharingPrefix(start))).toEqual({ kept: 0, evaluated: 0 });
    expect(await measureReuse(sharingPrefix(start - window))).toEqual({ kept: 0, evaluated: 0 });
    expect(cache.contextTokens).toEqual([]);
  });

  it('keeps the whole cache when the prompt extends it', async () => {
    expect(await measureReuse([...prefilled, 2000 as Token])).toEqual({ kept: 1000, evaluated: 0 });
  });
});

describe('a sequence', () => {
  let demo: Demo;
  beforeAll(async () => void (demo = await openDemo()));
  afterAll(() => demo.close());

  const tokensOf = (prompt: Prompt): Token[] => demo.renderer.tokens(demo.renderer.render(prompt));

  /** A sequence of a context with one slot, and a function that reads the tokens in its KV cache. */
  async function openSequence(): Promise<{
    sequence: ReturnType<Awaited<ReturnType<Demo['open']>>['sequence']>;
    readCachedTokens: () => Promise<Token[]>;
  }> {
    const { slots, sequence } = await demo.open(1);
    const owner = sequence();
    const readCachedTokens = async (): Promise<Token[]> => {
      const slot = await slots.acquire({ owner, prompt: [], priority: 'NORMAL' }, neverAborted);
      if (!slot) throw new Error('no slot');
      const { contextTokens } = slot.cache;
      slots.release(slot);
      return contextTokens;
    };
    return { sequence: owner, readCachedTokens };
  }

  /** Generates greedily after `tokens` in a new context. */
  async function generateFresh(tokens: Token[], count: number): Promise<Token[]> {
    const context = await demo.weights.createContext({ contextSize, batchSize: 256, threads: 1, flashAttention: true });
    const generated: Token[] = [];
    for await (const token of context.getSequence().evaluate(tokens, { temperature: 0 })) {
      generated.push(token);
      if (generated.length === count) break;
    }
    await context.dispose();
    return generated;
  }

  it('evaluates the prompt again from the first changed token', async () => {
    const { sequence } = await openSequence();
    const prompt = nextPrompt(userPrompt('How are you today?'), 'I am fine.', 'Tell me a joke');
    const changed = nextPrompt(userPrompt('How is she today?'), 'I am fine.', 'Tell me a joke');
    await generate(sequence, prompt);
    const { tokens, text } = await generate(sequence, changed);
    const [a, b] = [tokensOf(prompt), tokensOf(changed)];
    expect(tokens.reused).toBe(b.findIndex((token, index) => token !== a[index]));
    const fresh = await generateFresh(b, 30);
    expect(text).not.toBe('');
    expect(demo.weights.detokenize(fresh).startsWith(text)).toBe(true);
  });

  it('keeps no tail of a longer prompt', async () => {
    const { sequence, readCachedTokens } = await openSequence();
    const short = userPrompt('How are you today?');
    await generate(sequence, nextPrompt(short, 'I am fine.', 'Tell me a joke'));
    const { tokens } = await generate(sequence, short, { sampling: { max_tokens: 1 } });
    expect(tokens.reused).toBe(tokens.prompt - 1);
    expect(await readCachedTokens()).toEqual(tokensOf(short));
  });

  it('evaluates only the new message in each of five turns, and answers as without a cache', async () => {
    const { sequence, readCachedTokens } = await openSequence();
    let prompt = userPrompt('How are you today?');
    let { text } = await generate(sequence, prompt);
    for (const message of ['Tell me a joke', 'Who are you?', 'Thank you', 'What is your name?']) {
      prompt = nextPrompt(prompt, text, message);
      // The end of the last answer, the new message with its control tokens, and the start of the next answer.
      const newTokens = demo.weights.tokenize(
        `<|im_end|>\n<|im_start|>user\n${message}<|im_end|>\n<|im_start|>assistant\n`,
        true,
      );
      const next = await generate(sequence, prompt);
      expect(next.tokens.prompt - next.tokens.reused).toBeLessThanOrEqual(newTokens.length);
      const all = await readCachedTokens();
      const generated = await generateFresh(all.slice(0, next.tokens.prompt), next.tokens.generated);
      expect(all.slice(next.tokens.prompt, next.tokens.prompt + next.tokens.generated)).toEqual(generated);
      text = next.text;
    }
  });

  it('evaluates what a template writes before the next message while it waits for it', async () => {
    const { sequence, readCachedTokens } = await openSequence();
    const prompt = userPrompt('How are you today?');
    const { text } = await generate(sequence, prompt);
    const expected = `${demo.weights.detokenize(tokensOf(prompt), true)}${text}<|im_end|>\n<|im_start|>user\n`;
    await expect.poll(async () => demo.weights.detokenize(await readCachedTokens(), true)).toBe(expected);
    const next = await generate(sequence, nextPrompt(prompt, text, 'Thank you'));
    const ownTokens = demo.weights.tokenize('Thank you<|im_end|>\n<|im_start|>assistant\n', true);
    expect(next.tokens.prompt - next.tokens.reused).toBe(ownTokens.length);
    const all = tokensOf(nextPrompt(prompt, text, 'Thank you'));
    expect(demo.weights.detokenize(await generateFresh(all, 40)).startsWith(next.text)).toBe(true);
  });

  it('evaluates nothing ahead in the slot of another sequence', async () => {
    const { sequence, slots } = await demo.open(1);
    const [first, second] = [sequence(), sequence()];
    await generate(first, userPrompt('How are you today?'));
    const { text } = await generate(second, userPrompt('Tell me a joke'), { sampling: { max_tokens: 2 } });
    const cached = (): string => demo.weights.detokenize(slots.owned[0]?.slot.cache.contextTokens ?? [], true);
    await expect.poll(cached).toContain(`assistant\n${text}<|im_end|>\n<|im_start|>user\n`);
    await setTimeout(200);
    expect(cached()).toContain('Tell me a joke');
    expect(slots.owned[0]?.owner).toBe(second);
  });

  it('evaluates nothing ahead after an answer that the next prompt did not go on with', async () => {
    const { sequence, readCachedTokens } = await openSequence();
    const cachedText = async (): Promise<string> => demo.weights.detokenize(await readCachedTokens(), true);
    const ends = '<|im_end|>\n<|im_start|>user\n';
    await generate(sequence, userPrompt('How are you today?'));
    await expect.poll(async () => (await cachedText()).endsWith(ends)).toBe(true);
    await generate(sequence, userPrompt('Tell me a joke'));
    await setTimeout(200);
    expect((await cachedText()).endsWith(ends)).toBe(false);
  });

  it('reuses the generated tokens of an answer when the tokenizer would choose others for its text', async () => {
    const prompt = userPrompt('Tell me a joke');
    for (let seed = 1; seed <= 20; seed++) {
      const { sequence, readCachedTokens } = await openSequence();
      const { text, tokens } = await generate(sequence, prompt, { sampling: { temperature: 3, seed, max_tokens: 30 } });
      const generated = (await readCachedTokens()).slice(tokens.prompt);
      if (isDeepStrictEqual(generated, demo.weights.tokenize(text, false).slice(0, generated.length))) continue;
      const next = await generate(sequence, nextPrompt(prompt, text, 'Thank you'));
      return expect(next.tokens.reused).toBe(tokens.prompt + generated.length);
    }
    expect.fail('the model chooses the tokens of the tokenizer for every seed');
  });

  it('evaluates an answer again when it is not the generated one', async () => {
    const { sequence } = await openSequence();
    const prompt = userPrompt('How are you today?');
    const { tokens } = await generate(sequence, prompt);
    const next = await generate(sequence, nextPrompt(prompt, 'Never better!', 'Thank you'));
    expect(next.tokens.reused).toBe(tokens.prompt);
  });

  it('holds a prefix of prompt and answer after an abort at any time', async () => {
    const { sequence, readCachedTokens } = await openSequence();
    const prompt = userPrompt(`${'The lamp stands in the hall. '.repeat(60)} Tell me a long story about the sea.`);
    const all = [...tokensOf(prompt), ...(await generateFresh(tokensOf(prompt), 60))];
    const lengths: number[] = [];
    for (const abortAtPiece of [-1, 0, 1, 2, 5, 10, 20, 40]) {
      const control = new AbortController();
      let pieces = 0;
      const pending = generate(sequence, prompt, {
        signal: control.signal,
        sampling: { max_tokens: 60 },
        onText: () => void (++pieces === abortAtPiece && control.abort()),
      });
      if (abortAtPiece === 0) await yieldToEventLoop();
      if (abortAtPiece <= 0) control.abort();
      await pending;
      const cachedTokens = await readCachedTokens();
      expect(cachedTokens).toEqual(all.slice(0, cachedTokens.length));
      lengths.push(cachedTokens.length);
      await generate(sequence, userPrompt(`Something else ${abortAtPiece}.`), { sampling: { max_tokens: 2 } });
    }
    const prefilled = tokensOf(prompt).length;
    expect(lengths.slice(0, 2).every((length) => length < prefilled)).toBe(true);
    expect(lengths.slice(2).every((length) => length >= prefilled)).toBe(true);
  });

  it('reuses the cache in a long conversation until the prompt no longer fits', async () => {
    const { sequence } = await openSequence();
    let prompt = userPrompt('How are you today?');
    let turns = 0;
    const converse = async (): Promise<void> => {
      for (;;) {
        const { text, tokens } = await generate(sequence, prompt, { sampling: { max_tokens: 20 } });
        expect(tokens.prompt - tokens.reused).toBeLessThan(60);
        prompt = nextPrompt(prompt, text, `Tell me more about number ${++turns}, please.`);
      }
    };
    await expect(converse()).rejects.toMatchObject({ name: 'PROMPT_TOO_LARGE' });
    expect(turns).toBeGreaterThan(10);
  });

  it('leaves nothing in its slot for the next owner', async () => {
    const { sequence: open } = await demo.open(1);
    const [first, second] = [open(), open()];
    await generate(first, userPrompt('My secret word is walrus.', 'You keep secrets.'));
    const { text, tokens } = await generate(second, userPrompt('Which secret word?', 'You tell all.'));
    const [a, b] = [
      tokensOf(userPrompt('My secret word is walrus.', 'You keep secrets.')),
      tokensOf(userPrompt('Which secret word?', 'You tell all.')),
    ];
    expect(tokens.reused).toBe(b.findIndex((token, index) => token !== a[index]));
    expect(demo.weights.detokenize(await generateFresh(b, 40)).startsWith(text)).toBe(true);
    expect((await generate(first, userPrompt('My secret word is walrus.', 'You keep secrets.'))).finishReason).toBe(
      'end',
    );
  });

  it('prefills the start of a prompt, and keeps what is cached after it', async () => {
    const { sequence, readCachedTokens } = await openSequence();
    await sequence.prefill(userPrompt('anything', 'You are a lamp in a long hall.'), neverAborted);
    const head = await readCachedTokens();
    expect(demo.weights.detokenize(head, true)).toBe(
      '<|im_start|>system\nYou are a lamp in a long hall.<|im_end|>\n<|im_start|>user\n',
    );
    const prompt = userPrompt('How are you today?', 'You are a lamp in a long hall.');
    expect((await generate(sequence, prompt)).tokens.reused).toBe(head.length);
    const before = await readCachedTokens();
    await sequence.prefill(prompt, neverAborted);
    expect(await readCachedTokens()).toEqual(before);
  });

  it('starts with an empty cache after a failure of the engine', async () => {
    const { slots, sequence: open } = await demo.open(2);
    const [broken, whole] = [open(), open()];
    const fine = (await generate(broken, userPrompt('How are you today?'))).text;
    const slot = await slots.acquire({ owner: broken, prompt: [], priority: 'NORMAL' }, neverAborted);
    if (!slot) throw new Error('no slot');
    slot.cache.evaluate = async function* () {
      throw new Error('out of memory');
    };
    slots.release(slot);
    const [failed, other] = await Promise.allSettled([
      generate(broken, userPrompt('How are you today?')),
      generate(whole, userPrompt('How are you today?')),
    ]);
    expect(failed).toMatchObject({
      reason: { name: 'INFERENCE_FAILED', message: expect.stringContaining('out of memory') },
    });
    expect(other).toMatchObject({ value: { text: fine } });
    expect(await generate(broken, userPrompt('How are you today?'))).toMatchObject({
      text: fine,
      tokens: { reused: 0 },
    });
  });
});
